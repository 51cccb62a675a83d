"""`models.*`: list, choose, fetch and remove models."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import msgspec

from gnod.background.embedding_backlog import Backlog
from gnod.config import edit, model_uris
from gnod.config.faults import did_you_mean
from gnod.config.model import NO_MODEL, Config, Use
from gnod.config.model_uris import Endpoint
from gnod.configured.configuration import Configuration
from gnod.configured.embedding_models import EmbeddingService, ReadabilityService
from gnod.configured.models import ModelService
from gnod.configured.recommendation import Recommendation
from gnod.errors import DownloadFailed, InvalidModelUri, InvalidParams, ModelNotFound
from gnod.memory.service import MemoryService
from gnod.models.files import Installed
from gnod.models.readability import Readability, unread_scripts
from gnod.models.supply import catalogue
from gnod.models.supply.fetching import FetchProgress
from gnod.presets import MODEL_ROLES, NO_PRESET, PRESETS
from gnod.protocol import models as wire
from gnod.protocol.base import NoParams, ProgressValue, copied
from gnod.rpc.dispatcher import Call, Handler, named


def handlers(
    configuration: Configuration,
    models: ModelService,
    readability: ReadabilityService,
    recommend: Callable[[], Awaitable[Recommendation]],
    embedding: EmbeddingService,
    backlog: Backlog,
    memory: MemoryService,
) -> Mapping[str, Handler]:
    async def models_list(_: NoParams, __: Call) -> wire.ModelsListResult:
        await configuration.reload()
        infos = await asyncio.to_thread(_infos, models, readability)
        active = configuration.current.models.preset
        return wire.ModelsListResult(
            preset=active,
            presets=[
                wire.ModelPreset(
                    name=name, active=name == active, models=dict(preset), memory_bytes=catalogue.memory_of(name)
                )
                for name, preset in PRESETS.items()
            ],
            models=infos,
            models_dir=str(models.files.folder),
            total_bytes=await asyncio.to_thread(models.files.total_bytes),
        )

    async def models_use(params: wire.ModelsUseParams, _: Call) -> wire.ModelsUseResult:
        names = [*PRESETS, NO_PRESET]
        if params.preset not in names:
            raise InvalidParams(
                f"there is no preset {params.preset!r}{did_you_mean(params.preset, names)}; "
                f"there are: {', '.join(names)}",
                {"parameter": "preset"},
            )
        previous = configuration.current.models.preset
        await configuration.edit(partial(edit.use_preset, preset=params.preset))
        uses = dict.fromkeys(use.uri for use in models.uses())
        missing = await asyncio.to_thread(lambda: [uri for uri in uses if not models.is_ready(uri)])
        return wire.ModelsUseResult(
            preset=configuration.current.models.preset,
            previous=previous,
            config_file=str(configuration.path),
            missing=missing,
            in_force=_in_force(configuration.current),
        )

    async def models_recommend(_: NoParams, __: Call) -> wire.ModelsRecommendResult:
        await configuration.reload()
        return _recommended(await recommend())

    async def models_pull(params: wire.ModelsPullParams, call: Call) -> wire.ModelsPullResult:
        _check_network(params.network)
        await configuration.reload()
        chosen = _chosen(models, params.models) if params.models else [use.uri for use in models.uses()]
        chosen, pulled = [*dict.fromkeys(chosen)], []
        for number, uri in enumerate(chosen):
            started = time.monotonic()
            if endpoint := model_uris.endpoint_of(uri):
                if params.force and uri in params.models:  # only by its whole address: this deletes all its vectors
                    await take_new_model(endpoint)
                    pulled.append(wire.PulledModel(uri=uri, path=uri, bytes=0, fetched=True, took_ms=0.0))
                continue
            force = params.force or bool(params.accept)
            try:
                done = await models.pull(
                    uri, partial(_report, call, uri), params.network, force=force, accept=params.accept
                )
            except DownloadFailed as error:
                left = [each for each in chosen[number:] if not model_uris.endpoint_of(each)]
                models.pull_later(left, params.network, force=force, accept=params.accept)
                text = f"{error.message}. The daemon downloads it again in the background: `gnoctl status` shows when"
                raise DownloadFailed(text, error.details) from error
            pulled.append(
                copied(
                    wire.PulledModel,
                    done.installed,
                    path=str(done.installed.path),
                    fetched=done.fetched,
                    took_ms=round((time.monotonic() - started) * 1000, 1),
                )
            )
        return wire.ModelsPullResult(models=pulled)

    async def take_new_model(endpoint: Endpoint) -> None:
        # Do the memories first. Then no vectors remain that the new fingerprint does not cover, even if the daemon ends
        # in between.
        await memory.forget_vectors(str(endpoint))
        await embedding.take_new_model(endpoint)
        memory.models_changed()
        backlog.config_changed()

    async def models_clear(params: wire.ModelsClearParams, _: Call) -> wire.ModelsClearResult:
        if params.everything:
            return wire.ModelsClearResult(models=[], freed_bytes=await models.clear_all())
        if not params.models:
            raise InvalidParams("name the models to remove, or everything", {"parameter": "models"})
        uris_ = dict.fromkeys(_chosen(models, params.models))
        kept = [uri for uri in uris_ if uri.startswith("file:") or model_uris.endpoint_of(uri)]
        cleared = [wire.ClearedModel(uri=uri, freed_bytes=await models.clear(uri)) for uri in uris_ if uri not in kept]
        return wire.ModelsClearResult(
            models=cleared, freed_bytes=sum(model.freed_bytes for model in cleared), kept=kept
        )

    async def models_path(params: wire.ModelsPathParams, _: Call) -> wire.ModelsPathResult:
        if params.model is None:
            return wire.ModelsPathResult(path=str(models.files.folder))
        uri = _chosen(models, [params.model])[0]
        if model_uris.endpoint_of(uri):
            raise ModelNotFound(f"{uri} is run by a server, so this machine has no file of it", {"uri": uri})
        installed = await asyncio.to_thread(models.require, uri)
        return wire.ModelsPathResult(path=str(installed.path), uri=uri)

    return named(models_list, models_use, models_recommend, models_pull, models_clear, models_path)


def _in_force(config: Config) -> list[wire.RoleInForce]:
    """Return the models that index.yml names. No preset replaces them."""
    own: list[tuple[str | None, str, str | None]] = [
        *((None, role, getattr(config.models, role)) for role in MODEL_ROLES),
        *((each.name, role, each.models.get(role)) for each in config.collections for role in MODEL_ROLES),
    ]
    return [
        wire.RoleInForce(role=role, uri=uri, collection=name, remote=model_uris.endpoint_of(uri) is not None)
        for name, role, uri in own
        if uri is not None and uri != NO_MODEL
    ]


def _report(call: Call, uri: str, progress: FetchProgress) -> None:
    name = model_uris.short_name(model_uris.parse(uri))
    call.progress(
        ProgressValue(stage=progress.stage, done=progress.done, total=progress.total, label=name, unit="bytes")
    )


def _check_network(network: Mapping[str, str]) -> None:
    """Raise InvalidParams for a variable that is not allowed, because some could start other programs."""
    for name in network:
        if name not in wire.NETWORK_VARIABLES:
            raise InvalidParams(
                f"parameter 'network': {name[:60]!r} is not a variable for downloads; "
                f"the allowed ones are {', '.join(wire.NETWORK_VARIABLES)}",
                {"parameter": "network"},
            )


def _chosen(models: ModelService, names: Sequence[str]) -> list[str]:
    """Return the addresses of models that are named by role or address. Raises InvalidModelUri and ModelNotFound."""
    chosen = ([str(model_uris.parse(name))] if ":" in name else _for_role(models, name) for name in names)
    return [uri for uris in chosen for uri in uris]


def _for_role(models: ModelService, role: str) -> list[str]:
    """Return the model of the preset for `role`, and the models of collections that have their own."""
    if role not in MODEL_ROLES:
        raise InvalidModelUri(
            f"{role!r} is neither a role ({', '.join(MODEL_ROLES)}) nor a model's address such as "
            f"hf:org/repo or hf:org/repo/file.gguf{did_you_mean(role, MODEL_ROLES)}",
            {"uri": role},
        )
    chosen = [use.uri for use in models.uses() if use.role == role]
    if not chosen:
        text = f"the current preset has no model for {role}: `gnoctl models list` shows other presets"
        raise ModelNotFound(text, {"role": role})
    return chosen


def _infos(models: ModelService, readability: ReadabilityService) -> list[wire.ModelInfo]:
    """Return the configured models in the order of the configuration, then unused installed models."""
    uses: dict[str, list[Use]] = {}
    for use in models.uses():
        uses.setdefault(use.uri, []).append(use)
    infos = [_info(models, readability, uri, of_uri, models.find(uri)) for uri, of_uri in uses.items()]
    unused = [model for model in models.files.all() if model.uri not in uses]
    return infos + [_info(models, readability, model.uri, [], model) for model in unused]


def _download_bytes(uri: str) -> int | None:
    known = catalogue.MODELS.get(uri)
    return known and known.bytes


def _recommended(found: Recommendation) -> wire.ModelsRecommendResult:
    chosen = found.choice
    roles: dict[str, list[str]] = {}
    for role, uri in PRESETS[chosen.preset].items() if chosen.preset else ():
        if uri:
            roles.setdefault(uri, []).append(role)
    return wire.ModelsRecommendResult(
        preset=chosen.preset,
        models=[
            wire.PresetModel(
                uri=uri,
                name=model_uris.short_name(model_uris.parse(uri)),
                roles=of_uri,
                installed=uri in found.installed,
                download_bytes=None if uri in found.installed else _download_bytes(uri),
            )
            for uri, of_uri in roles.items()
        ],
        better=[wire.RejectedPreset(preset=preset, reason=why) for preset, why in chosen.rejected],
        languages=sorted(found.documents.languages),
        scripts=sorted(found.documents.scripts),
        documents=found.extent.documents,
        chunks=found.extent.chunks,
        tokens=found.documents.tokens,
        cores=found.cores,
        free_memory_bytes=found.memory,
        gpus=[wire.GraphicsCard(**msgspec.structs.asdict(gpu)) for gpu in found.gpus],
        tokens_per_s=found.tokens_per_s,
        load=round(found.load, 1),
        embed_s=found.embed_s and round(found.embed_s, 1),
    )


def _reading(found: Readability) -> wire.ModelReading:
    return wire.ModelReading(
        languages=[language for language in found.languages if found.reads(language)],
        unread_scripts=list(unread_scripts(found)),
        figures={language: {"separation": each.separation} for language, each in found.languages.items()},
    )


def _info(
    models: ModelService, readability: ReadabilityService, uri: str, uses: Sequence[Use], installed: Installed | None
) -> wire.ModelInfo:
    found = readability.stored(uri)
    return wire.ModelInfo(
        uri=uri,
        name=model_uris.short_name(model_uris.parse(uri)),
        uses=[wire.ModelUse(role=use.role, collection=use.collection) for use in uses],
        installed=installed is not None,
        path=str(installed.path) if installed else None,
        bytes=installed.bytes if installed else 0,
        sha256=installed.sha256 or None if installed else None,
        remote=model_uris.endpoint_of(uri) is not None,
        partial_bytes=0 if uri.startswith("file:") or model_uris.endpoint_of(uri) else models.files.partial_bytes(uri),
        fetching=models.is_pulling(uri),
        download_bytes=None if installed else _download_bytes(uri),
        reads=_reading(found) if found else None,
        measuring=found is None and readability.is_measuring(uri),
    )
