"""Which languages the embedding models of the presets read, as ISO 639-1 codes, before they are on this machine.

An installed model is measured (`gnod.models.readability`); for others, the statements of their authors count.
"""

from __future__ import annotations


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _codes("en")
# Measured in 88 languages.
E5_SMALL = _codes(
    "af am ar az be bg bn bs ca cs cy da de el en eo es et fa fi fr ga gu he hi hr hu hy id it ja ka kk km kn ko lo "
    "lt lv mk ml mn mr ms my nb ne nl nn no or pa pl pt ro ru si sk sl sq sr st sv sw ta te th tl tr uk ur vi xh zh "
    "zu"
)
# It was trained for retrieval in these languages. Its encoder has seen more than 200.
GRANITE_97M = _codes(
    "ar az bg bn ca cs da de el en es et fa fi fr he hi hr hu id is it ja ka kk km ko lt lv mr ms nb nl nn no pl pt "
    "ro ru sk sl sq sr sv sw te th tl tr uk ur uz vi zh"
)
# The languages of Qwen3 that have a code of two letters.
QWEN3 = _codes(
    "af ar as az ba be bg bn bs ca cs cy da de el en es et eu fa fi fo fr ga gl gu he hi hr ht hu hy id is it ja jv "
    "ka kk km kn ko lb li lo lt lv mk ml mr ms mt my nb ne nl nn no oc or pa pl pt ro ru sc sd si sk sl sq sr su sv "
    "sw ta te tg th tl tr tt uk ur uz vi yi zh"
)
# The languages of the model that bge-m3 was made from.
XLM_ROBERTA = _codes(
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is "
    "it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my nb ne nl nn no om or pa pl ps pt ro ru sa sd si "
    "sk sl so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)
