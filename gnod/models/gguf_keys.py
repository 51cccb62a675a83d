"""The fields of gnod's own in a GGUF file, which its converters write and its inference worker reads."""

TOKENIZER = "tokenizer.huggingface.json"
"""The model's tokenizer, as Hugging Face's library writes it. A name of the GGUF specification."""

OUTPUT_LAYERS = "gnod.output_layers"
"""The layers after the pooling, as JSON (`gnod.models.output_layers`)."""

SECOND_TEXT = "gnod.second_text"
"""How far the tokens of a pair's second text are shifted in the vocabulary (`gnod.models.supply.convert.bert`)."""
