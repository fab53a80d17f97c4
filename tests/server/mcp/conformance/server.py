"""Our server with the fixtures of the suite: engine, sessions, guards and the port are the product's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from phasekeeper.server.hub.http_listener import serve_http
from phasekeeper.server.hub.hub import Hub
from phasekeeper.server.mcp.client import ClientSession, RequestContext
from phasekeeper.server.mcp.server import McpServer
from phasekeeper.server.mcp.transports import App

from tests.server.mcp.conformance import asking, contents, tools


class Product(McpServer):
    """The product, for a client that cannot be told to bring a token: it is brought for it."""

    def http_app(self, port: int, token: str) -> App:
        app = super().http_app(port, token)
        brought = (b"authorization", f"Bearer {token}".encode())

        async def serve(scope: Any, receive: Any, send: Any) -> None:
            more = {"headers": [*scope["headers"], brought]} if scope["type"] == "http" else {}
            await app({**scope, **more}, receive, send)

        return serve


class ConformanceServer(Product):
    """The product's handlers; what is none of theirs is the suite's."""

    def _new_server(self) -> Server[ClientSession]:
        server = super()._new_server()
        # The suite's tools have the lists change that are fixed in the product.
        server.get_capabilities = partial(Server.get_capabilities, server)
        # Deprecated, so that the product has none; the suite of the older protocol wants it.
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
        return server

    def input_schema(self, name: str) -> dict[str, Any] | None:
        made = tools.TOOLS.get(name)
        return dict(made.schema) if made else super().input_schema(name)

    async def _list_tools(self, context: RequestContext, _: Any) -> types.ListToolsResult:
        known = await super()._list_tools(context, _)
        return types.ListToolsResult(tools=[*known.tools, *tools.tool_list()])

    async def _call_tool(
        self, context: RequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        made = tools.TOOLS.get(params.name)
        if made is None:
            return await super()._call_tool(context, params)
        self._subscriptions(context)
        given, answers = params.arguments or {}, params.input_responses or {}
        return await made.run(tools.Call(context, given, answers, params.request_state, self.notifier.bus))

    async def _list_resources(
        self, context: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        known = await super()._list_resources(context, params)
        return known.model_copy(update={"resources": [*known.resources, *contents.resources()]})

    async def _list_templates(self, context: RequestContext, _: Any) -> types.ListResourceTemplatesResult:
        known = await super()._list_templates(context, _)
        return types.ListResourceTemplatesResult(
            resource_templates=[*known.resource_templates, contents.template()]
        )

    async def _read_resource(
        self, context: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        return contents.read(str(params.uri)) or await super()._read_resource(context, params)

    async def _list_prompts(self, context: RequestContext, _: Any) -> types.ListPromptsResult:
        known = await super()._list_prompts(context, _)
        takes = {name: arguments for name, (arguments, _) in contents.PROMPTS.items()} | {asking.PROMPT: ()}
        made = [
            types.Prompt(
                name=name,
                description=tools.about(name),
                arguments=[types.PromptArgument(name=each, required=True) for each in arguments],
            )
            for name, arguments in takes.items()
        ]
        return types.ListPromptsResult(prompts=[*known.prompts, *made])

    async def _get_prompt(
        self, context: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        if params.name == asking.PROMPT:
            return asking.prompt_result(params)
        if params.name not in contents.PROMPTS:
            return await super()._get_prompt(context, params)
        arguments, content = contents.PROMPTS[params.name]
        given = params.arguments or {}
        if missing := [name for name in arguments if name not in given]:
            raise MCPError(types.INVALID_PARAMS, f"missing: {', '.join(missing)}")
        return contents.prompt(content(given))


async def _set_level(context: RequestContext, _: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


class _Hub(Hub):
    def __init__(self, loop: asyncio.AbstractEventLoop, kind: type[McpServer]) -> None:
        super().__init__(loop)
        self._assistants = kind(self.engine)


@asynccontextmanager
async def server_url(kind: type[McpServer]) -> AsyncIterator[str]:
    """The address of a server on a free port, with assistants of a kind."""
    hub = _Hub(asyncio.get_running_loop(), kind)
    try:
        async with serve_http(hub, 0):
            yield hub.about["http"]
    finally:
        await hub.stop()
