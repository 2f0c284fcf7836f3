//! Dispatches requests; contains no logic of its own.

use crate::listeners::Listener;
use crate::request_permit::count_result;
use crate::session::{McpSession, watch_until_closed};
use crate::{complete, extension, info, prompts, resources, tools};
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::sync::Arc;

/// The handler of one session.
#[derive(Debug, Clone)]
pub(crate) struct McpHandler(pub(crate) Arc<McpSession>);

type Context = RequestContext<RoleServer>;

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        info::server_config()
    }

    async fn initialize(
        &self,
        params: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(params.clone());
        // Before the first request, so that no change is missed.
        self.0.listeners.add(Listener::Session(context.peer));
        self.negotiate_initialize(&params)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = tools::list(&self.0).await?;
        count_result(&context, listed)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = tools::call(&self.0, params, &context).await?;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = resources::list(&self.0, cursor(params).as_deref()).await?;
        count_result(&context, listed)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let result = resources::read(&self.0, &params.uri).await?;
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        params: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let listed = prompts::list(&self.0, cursor(params).as_deref()).await?;
        count_result(&context, listed)
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let result = prompts::get(&self.0, &params).await?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        complete::complete(&self.0, &params).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let version = context.protocol_version();
        let result = extension::handle_request(&self.0, &request, version.as_ref()).await?;
        count_result(&context, result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let peer = context.peer;
        let over = move || peer.is_transport_closed();
        tokio::spawn(watch_until_closed(Arc::downgrade(&self.0), over));
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        accepted.resource_subscriptions = None;
        self.0.listeners.accept();
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.0.run_subscription(&context).await;
        Ok(())
    }
}

fn cursor(params: Option<PaginatedRequestParams>) -> Option<String> {
    params?.cursor
}
