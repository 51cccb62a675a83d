"""`models.*`: what there is, which preset is used, fetching and removing."""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Mapping, Sequence
from functools import partial

from gnod.config import edit
from gnod.config.model import MODEL_ROLES, PRESETS
from gnod.errors import InvalidModelUri, InvalidParams, ModelNotFound
from gnod.models import uris
from gnod.models.fetching import FetchProgress
from gnod.models.files import Installed, ModelFiles
from gnod.models.presets import PRESET_MODELS, Use
from gnod.protocol.params import (
    NETWORK_VARIABLES,
    ModelsClearParams,
    ModelsPathParams,
    ModelsPullParams,
    ModelsUseParams,
    NoParams,
)
from gnod.protocol.results import (
    ClearedModel,
    ModelInfo,
    ModelPreset,
    ModelsClearResult,
    ModelsListResult,
    ModelsPathResult,
    ModelsPullResult,
    ModelsUseResult,
    ModelUse,
    ProgressValue,
    PulledModel,
)
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.shapes import iso
from gnod.server.index import Index
from gnod.server.modelling import Models


def handlers(served: Index) -> Mapping[str, Handler]:
    models, configuration = served.models, served.configuration

    async def models_list(_: NoParams, __: Call) -> ModelsListResult:
        await configuration.reload()
        infos = await asyncio.to_thread(_infos, models)
        active = configuration.current.models.preset
        return ModelsListResult(
            preset=active,
            presets=[
                ModelPreset(name=name, active=name == active, models=dict(PRESET_MODELS[name])) for name in PRESETS
            ],
            models=infos,
            models_dir=str(models.files.folder),
            total_bytes=await asyncio.to_thread(models.files.total_bytes),
        )

    async def models_use(params: ModelsUseParams, _: Call) -> ModelsUseResult:
        if params.preset not in PRESETS:
            raise InvalidParams(
                f"there is no preset {params.preset!r}{_did_you_mean(params.preset, PRESETS)}; "
                f"there are: {', '.join(PRESETS)}",
                {"parameter": "preset"},
            )
        previous = configuration.current.models.preset
        await configuration.edit(partial(edit.use_preset, preset=params.preset))
        wanted = dict.fromkeys(use.uri for use in models.uses())
        missing = await asyncio.to_thread(lambda: [uri for uri in wanted if models.find(uri) is None])
        return ModelsUseResult(
            preset=configuration.current.models.preset,
            previous=previous,
            config_file=str(configuration.path),
            missing=missing,
        )

    async def models_pull(params: ModelsPullParams, call: Call) -> ModelsPullResult:
        _check_network(params.network)
        await configuration.reload()
        chosen = _chosen(models, params.models) if params.models else [use.uri for use in models.uses()]
        pulled = []
        for uri in dict.fromkeys(chosen):
            started = time.monotonic()
            done = await models.pull(uri, partial(_tell, call, uri), params.network, force=params.force)
            pulled.append(
                PulledModel(
                    uri=done.installed.uri,
                    path=str(done.installed.path),
                    bytes=done.installed.bytes,
                    fetched=done.fetched,
                    took_ms=round((time.monotonic() - started) * 1000, 1),
                )
            )
        return ModelsPullResult(models=pulled)

    async def models_clear(params: ModelsClearParams, _: Call) -> ModelsClearResult:
        if params.everything:
            return ModelsClearResult(models=[], freed_bytes=await models.clear_all())
        if not params.models:
            raise InvalidParams("name the models to remove, or everything", {"parameter": "models"})
        uris_ = dict.fromkeys(_chosen(models, params.models))
        kept = [uri for uri in uris_ if uri.startswith("file:")]
        cleared = [ClearedModel(uri=uri, freed_bytes=await models.clear(uri)) for uri in uris_ if uri not in kept]
        return ModelsClearResult(models=cleared, freed_bytes=sum(each.freed_bytes for each in cleared), kept=kept)

    async def models_path(params: ModelsPathParams, _: Call) -> ModelsPathResult:
        if params.model is None:
            return ModelsPathResult(path=str(models.files.folder))
        uri = _chosen(models, [params.model])[0]
        found = await asyncio.to_thread(models.require, uri)
        return ModelsPathResult(path=str(found.path), uri=uri)

    return {
        "models.list": models_list,
        "models.use": models_use,
        "models.pull": models_pull,
        "models.clear": models_clear,
        "models.path": models_path,
    }


def _tell(call: Call, uri: str, progress: FetchProgress) -> None:
    name = uris.short_name(uris.parse(uri))
    call.progress(
        ProgressValue(stage=progress.stage, done=progress.done, total=progress.total, label=name, unit="bytes")
    )


def _check_network(network: Mapping[str, str]) -> None:
    """Raise InvalidParams for a variable that is not on the list: some would make us run other programs."""
    for name in network:
        if name not in NETWORK_VARIABLES:
            raise InvalidParams(
                f"parameter 'network': {name[:60]!r} is not a variable that a download takes over; "
                f"those are {', '.join(NETWORK_VARIABLES)}",
                {"parameter": "network"},
            )


def _chosen(models: Models, names: Sequence[str]) -> list[str]:
    """Return the addresses that roles and addresses name. Raises InvalidModelUri and ModelNotFound."""
    return [uri for name in names for uri in ([_address(name)] if ":" in name else _for_role(models, name))]


def _address(text: str) -> str:
    return str(uris.parse(text))


def _for_role(models: Models, role: str) -> list[str]:
    """Return the model of the preset for `role`, and those of the collections that have their own."""
    if role not in MODEL_ROLES:
        raise InvalidModelUri(
            f"{role!r} is neither a role ({', '.join(MODEL_ROLES)}) nor a model's address such as "
            f"hf:org/repo/file.gguf{_did_you_mean(role, MODEL_ROLES)}",
            {"uri": role},
        )
    found = [use.uri for use in models.uses() if use.role == role]
    if not found:
        raise ModelNotFound(
            f"the preset in use has no model for {role}; `gnoctl models list` shows the others", {"role": role}
        )
    return found


def _did_you_mean(word: str, options: Sequence[str]) -> str:
    close = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _infos(models: Models) -> list[ModelInfo]:
    """Return the models that are asked for, in the config's order, and then those that only lie there."""
    asked: dict[str, list[Use]] = {}
    for use in models.uses():
        asked.setdefault(use.uri, []).append(use)
    here = {each.uri: each for each in models.files.all()}
    listed = [_info(models, uri, using, models.find(uri)) for uri, using in asked.items()]
    return listed + [_info(models, uri, [], found) for uri, found in here.items() if uri not in asked]


def _info(models: Models, uri: str, using: Sequence[Use], found: Installed | None) -> ModelInfo:
    return ModelInfo(
        uri=uri,
        name=uris.short_name(uris.parse(uri)),
        uses=[ModelUse(role=use.role, collection=use.collection) for use in using],
        installed=found is not None,
        path=str(found.path) if found else None,
        bytes=found.bytes if found else 0,
        sha256=found.sha256 or None if found else None,
        fetched_at=iso(found.fetched_at) if found else None,
        partial_bytes=_partial_bytes(models.files, uri),
        fetching=models.is_pulling(uri),
    )


def _partial_bytes(files: ModelFiles, uri: str) -> int:
    return 0 if uri.startswith("file:") else files.partial_bytes(uri)
