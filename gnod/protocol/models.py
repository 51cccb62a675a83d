"""Wire types of `models.…`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from gnod.protocol.base import Params, Result

# A client may pass these variables of its environment to a download. Some values are secrets.
NETWORK_VARIABLES = (
    *("GNO_OFFLINE", "HF_HUB_OFFLINE", "HF_ENDPOINT", "HF_TOKEN"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "UV_INDEX_URL", "UV_DEFAULT_INDEX"),
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"),
)

ModelName = Annotated[str, Meta(min_length=1, max_length=1024)]
Network = dict[str, Annotated[str, Meta(max_length=4096)]]


class ModelsUseParams(Params, frozen=True, kw_only=True):
    """`preset`: a name from `models.list`, or `none` for keyword search alone."""

    preset: Annotated[str, Meta(min_length=1, max_length=100)]


class ModelsPullParams(Params, frozen=True, kw_only=True):
    """Selects the models to download.

    - `models`: roles (`embed`, `rerank`, `expand`, `answer`) or addresses (`hf:…`); empty for all in the config.
    - `force`: download installed models again. For the address of a model that a server runs: accept the model that
      runs there now, and embed everything again.
    - `accept`: the SHA-256 of a file to accept although gnod knows a different hash.
    - `network`: variables of the client's environment for the download (proxies, mirrors, tokens). Only a fixed list of
      names is allowed.
    """

    models: Annotated[list[ModelName], Meta(max_length=100)] = []
    force: bool = False
    accept: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] = ""
    network: Network = {}


class ModelsClearParams(Params, frozen=True, kw_only=True):
    """`models`: roles or addresses. `everything`: delete all models, including unused and incomplete ones."""

    models: Annotated[list[ModelName], Meta(max_length=100)] = []
    everything: bool = False


class ModelsPathParams(Params, frozen=True, kw_only=True):
    """`model`: a role or an address; null for the folder of all models."""

    model: ModelName | None = None


class ModelPreset(Result, frozen=True, kw_only=True):
    """`models`: the address for each role; null if the preset has no model for it. `memory_bytes`: the memory that a
    search needs when the models are loaded."""

    name: str
    active: bool
    models: dict[str, str | None]
    memory_bytes: int


class ModelUse(Result, frozen=True, kw_only=True):
    """`collection`: the collection whose settings name the model; null if the preset names it."""

    role: str
    collection: str | None = None


class ModelReading(Result, frozen=True, kw_only=True):
    """The languages and scripts that an embedding model can read, measured with sample texts.

    - `languages`: ISO 639-1 codes of the languages that it was trained on.
    - `unread_scripts`: scripts that it cannot read, by their Unicode names (`CYRILLIC`). Only keyword search finds
      texts in them.
    - `figures`: for each language, how well the model separates related from unrelated texts (`separation`, in [0, 1];
      0.5 means not at all).
    """

    languages: list[str]
    unread_scripts: list[str]
    figures: dict[str, dict[str, float]]


class ModelInfo(Result, frozen=True, kw_only=True):
    """A model that the config names, or an unused one on the disk.

    - `name`: a short name for people.
    - `remote`: a server runs it, so it is never installed.
    - `partial_bytes`: the size of an incomplete download.
    - `fetching`: a download is running.
    - `reads`: the result of measuring an embedding model.
    - `measuring`: a measurement is running.
    - `download_bytes`: the approximate size of a model that is not installed; null if it is unknown.
    """

    uri: str
    name: str
    uses: list[ModelUse]
    installed: bool
    remote: bool = False
    path: str | None = None
    bytes: int = 0
    sha256: str | None = None
    partial_bytes: int = 0
    fetching: bool = False
    reads: ModelReading | None = None
    measuring: bool = False
    download_bytes: int | None = None


class ModelsListResult(Result, frozen=True, kw_only=True):
    preset: str
    presets: list[ModelPreset]
    models: list[ModelInfo]
    models_dir: str
    total_bytes: int


class RoleInForce(Result, frozen=True, kw_only=True):
    """A role whose model `index.yml` names, so presets do not change it.

    - `collection`: the collection whose settings name the model; null if the setting `models` names it.
    - `remote`: a server runs it, and receives texts and queries.
    """

    role: str
    uri: str
    collection: str | None = None
    remote: bool = False


class ModelsUseResult(Result, frozen=True, kw_only=True):
    """`missing`: addresses of the preset's models that are not installed. `in_force`: models that are used with any
    preset.
    """

    preset: str
    previous: str
    config_file: str
    missing: list[str]
    in_force: list[RoleInForce] = []


class GraphicsCard(Result, frozen=True, kw_only=True):
    """A graphics card that llama.cpp can use. `total_bytes`, `free_bytes`: its memory."""

    name: str
    total_bytes: int
    free_bytes: int


class PresetModel(Result, frozen=True, kw_only=True):
    """A model of the recommended preset. ModelInfo describes the fields."""

    uri: str
    name: str
    roles: list[str]
    installed: bool
    download_bytes: int | None = None


class RejectedPreset(Result, frozen=True, kw_only=True):
    """A preset that does not fit, and the `reason`:

    - `languages`: its embedding model does not read the documents.
    - `memory`: it needs more memory.
    - `card`: it needs a graphics card.
    - `package`: it needs the extra `gnod[llama]`, which is not installed.
    - `time`: embedding takes over an hour.
    - `reranking`: reranking is too slow.
    """

    preset: str
    reason: str


class ModelsRecommendResult(Result, frozen=True, kw_only=True):
    """The recommended preset, and the facts behind the choice.

    - `preset`: null if no preset reads the documents.
    - `better`: presets that would be better, and why they do not fit.
    - `languages`: the languages that were taken into account, as ISO 639-1 codes.
    - `scripts`: the scripts of documents whose language is unknown.
    - `chunks`, `tokens`: approximate numbers for all documents.
    - `tokens_per_s`: the expected speed of the preset's embedding model on this machine.
    - `load`: the load average of the last minute.
    - `embed_s`: the time to embed all documents under this load. For a new model, it includes the time to measure what
      the model reads.
    """

    preset: str | None
    models: list[PresetModel]
    better: list[RejectedPreset]
    languages: list[str]
    scripts: list[str]
    documents: int
    chunks: int
    tokens: int
    cores: int
    free_memory_bytes: int
    gpus: list[GraphicsCard]
    tokens_per_s: int | None = None
    load: float = 0.0
    embed_s: float | None = None


class PulledModel(Result, frozen=True, kw_only=True):
    """`fetched`: false if the model was already installed."""

    uri: str
    path: str
    bytes: int
    fetched: bool
    took_ms: float


class ModelsPullResult(Result, frozen=True, kw_only=True):
    models: list[PulledModel]


class ClearedModel(Result, frozen=True, kw_only=True):
    uri: str
    freed_bytes: int


class ModelsClearResult(Result, frozen=True, kw_only=True):
    """`models`: empty if everything was removed. `kept`: models that servers run, and files of `file:` addresses, which
    gnod never removes.
    """

    models: list[ClearedModel]
    freed_bytes: int
    kept: list[str] = []


class ModelsPathResult(Result, frozen=True, kw_only=True):
    path: str
    uri: str | None = None
