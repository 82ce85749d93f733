"""``backbone=litellm``: any provider's model, or any OpenAI-compatible server, through litellm.

Importing litellm takes seconds and, left alone, fetches a price list and loads ``.env``: it is
imported only when this backbone is made.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from typing import Any, ClassVar

from ark.backbone.keys import in_environment, read_key
from ark.backbone.library_litellm import closer, import_quietly
from ark.backbone.remote import OPENAI, RemoteBackbone
from ark.errors import UserError


class LiteLLMBackbone(RemoteBackbone):
    """A model behind litellm; ``model`` is named as litellm names it, ``PROVIDER/NAME``."""

    client: ClassVar[str] = "litellm"
    _litellm: Any
    _key_name: str | None = None  # the provider's usual variable, once one has a value

    def _load(self) -> type[Exception]:
        self._litellm, error = import_quietly()
        return error

    def _locate(self) -> tuple[str, str | None]:
        given = self._api_base
        try:
            _, provider, _, default = self._litellm.get_llm_provider(self._model, api_base=given)
        except self._library_error:
            raise UserError(
                f"backbone.model={self._model} names no provider that litellm knows: write "
                f"PROVIDER/NAME, or openai/{self._model} with backbone.api_base=URL for a server "
                "of your own"
            ) from None
        if provider == "hosted_vllm" and given is None and "HOSTED_VLLM_API_BASE" not in os.environ:
            # litellm would send the questions to api.openai.com.
            raise UserError(
                f"backbone.model={self._model} needs backbone.api_base=http://HOST:PORT/v1"
            )
        return str(provider), given or default or (OPENAI if provider == "openai" else None)

    def _priced_as(self) -> str:
        name, provider, *_ = self._litellm.get_llm_provider(self._model)
        return f"{provider}/{name}"

    def _own_key(self) -> str | None:
        if self._key_name is None:
            # Without this some providers are asked without a key, others report a status 500.
            missing = self._litellm.validate_environment(self._model)["missing_keys"]
            if missing and all(name.endswith("_API_KEY") for name in missing):
                found = [name for name in missing if read_key(name)]
                if not found:
                    raise self._no_key(missing)
                self._key_name = found[0]
            else:
                self._key_name = ""  # litellm's own business: several variables, or none
        if not self._key_name or in_environment(self._key_name):
            return None
        return read_key(self._key_name) or None

    async def _post(self, body: Mapping[str, Any], key: str | None) -> Any:
        access = {"api_key": key, "api_base": self._api_base}
        if self._api_base is None and self._provider == "openai":
            access["api_base"] = OPENAI  # else OPENAI_BASE_URL would choose another server
        return await self._litellm.acompletion(
            model=self._model,
            timeout=self._timeout,
            num_retries=0,
            max_retries=0,
            **{k: v for k, v in access.items() if v is not None},
            **body,
        )

    def _closer(self) -> AsyncGenerator[None, None]:
        return closer(self._litellm)
