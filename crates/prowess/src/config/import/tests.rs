//! What of usual configurations is imported, and that nothing is lost without a word.

use super::*;

/// The imported file and the reports, one per line.
fn import(text: &str) -> (String, String) {
    let imported = import_litellm(text).unwrap();
    let ignored = imported.ignored.iter();
    let ignored: Vec<_> = ignored
        .map(|setting| format!("{}: {}", setting.path, setting.why))
        .collect();
    (imported.toml, ignored.join("\n"))
}

#[test]
fn credentials_are_taken_from_their_list_unless_the_model_has_its_own() {
    let (toml, ignored) = import(
        r"
credential_list:
  - credential_name: eu
    credential_values:
      api_base: https://acme-eu.openai.azure.com
      api_key: os.environ/AZURE_EU_KEY
    credential_info: {description: of the team in Europe}
  - credential_name: empty
model_list:
  - model_name: gpt
    litellm_params: {model: azure/gpt, litellm_credential_name: eu}
  - model_name: own
    litellm_params: {model: azure/own, litellm_credential_name: eu, api_key: os.environ/OWN}
  - model_name: claude
    litellm_params: {model: anthropic/claude-opus-4-5, litellm_credential_name: stored}
",
    );
    for line in [
        "base_url = \"https://acme-eu.openai.azure.com\"\napi_key = \"env:AZURE_EU_KEY\"",
        "base_url = \"https://acme-eu.openai.azure.com\"\napi_key = \"env:OWN\"",
        "name = \"claude\"",
    ] {
        assert!(toml.contains(line), "{line}: {toml}");
    }
    assert_eq!(
        ignored,
        "credential_list[1]: it has no credential_name, or no credential_values\n\
         model_list[2].litellm_params: the credentials `stored` are not in the file"
    );
}

#[test]
fn fallbacks_may_be_for_all_models_and_lead_to_patterns() {
    let (toml, ignored) = import(
        r#"
model_list:
  - {model_name: small, litellm_params: {model: openai/small}}
  - {model_name: other, litellm_params: {model: openai/other}}
  - {model_name: "anthropic/*", litellm_params: {model: "anthropic/*"}}
litellm_settings:
  fallbacks:
    - small: [anthropic/claude-opus-4-5]
    - "*": [other]
    - other
    - other: [{model: small, api_key: sk-1}]
  context_window_fallbacks: [{small: other}]
router_settings: {default_fallbacks: other, model_group_alias: [big]}
"#,
    );
    for lines in [
        "name = \"small\"\nprovider = \"openai\"\nfallbacks = [\"anthropic/claude-opus-4-5\"]",
        "name = \"other\"\nprovider = \"openai\"\n\n",
        "name = \"anthropic/*\"\nprovider = \"anthropic\"\nmodel = \"*\"\nfallbacks = [\"other\"]",
    ] {
        assert!(toml.contains(lines), "{lines}: {toml}");
    }
    let expected = [
        "router_settings.model_group_alias: it is not a mapping of names to models",
        "litellm_settings.fallbacks: an entry does not say which model has these fallbacks",
        "litellm_settings.fallbacks: a fallback with parameters of its own is not the name of a \
         model",
        "litellm_settings.context_window_fallbacks: it is not a list",
        "router_settings.default_fallbacks: it is not a list",
    ];
    assert_eq!(ignored, expected.join("\n"));
}

#[test]
fn numbers_are_read_as_litellm_reads_them_and_weights_become_whole_ones() {
    let (toml, ignored) = import(
        r#"
model_list:
  - model_name: gpt
    litellm_params: {model: openai/one, api_key: "", weight: 0.75, tpm: 20_000}
  - model_name: gpt
    litellm_params: {model: openai/two, weight: 0.25, rpm: "1_000"}
  - model_name: gpt
    litellm_params: {model: openai/three}
  - model_name: priced
    litellm_params:
      model: openai/priced
      input_cost_per_token: 1.0e-6
      output_cost_per_token: 2.0e-6
      search_context_cost_per_query:
        search_context_size_low: 0.025
        search_context_size_medium: 0.025
        search_context_size_high: 0.025
"#,
    );
    assert_eq!(ignored, "");
    for lines in [
        "model = \"one\"\nweight = 750\ntokens_per_minute = 20000\n",
        "model = \"two\"\nweight = 250\nrequests_per_minute = 1000\n",
        "model = \"three\"\nweight = 1000\n",
        "input_price = 1.0\noutput_price = 2.0\nweb_search_price = 25.0\n",
    ] {
        assert!(toml.contains(lines), "{lines}: {toml}");
    }
    assert!(!toml.contains("api_key"), "{toml}");
}

#[test]
fn a_missing_or_empty_key_is_that_of_the_vendors_variable_at_any_address() {
    let (toml, ignored) = import(
        r#"
model_list:
  - model_name: empty
    litellm_params: {model: openai/a, api_base: "https://eu.models.example/v1", api_key: ""}
  - model_name: blank
    litellm_params: {model: openai/b, api_base: "https://eu.models.example/v1", api_key: "  "}
  - model_name: missing
    litellm_params: {model: anthropic/c, api_base: "https://models.example"}
  - model_name: own
    litellm_params: {model: openai/d, api_base: "http://127.0.0.1:1/v1", api_key: none}
  - model_name: keyless
    litellm_params: {model: hosted_vllm/e, api_base: "http://127.0.0.1:2/v1", api_key: ""}
  - model_name: at-home
    litellm_params: {model: groq/f, api_key: ""}
  - model_name: application
    litellm_params:
      model: azure/g
      api_base: https://acme.openai.azure.com
      tenant_id: t1
      client_id: c1
      client_secret: os.environ/AZURE_SECRET
"#,
    );
    assert_eq!(ignored, "");
    for lines in [
        "[providers.openai]\nkind = \"openai\"\nbase_url = \"https://eu.models.example/v1\"\n\
         api_key = \"env:OPENAI_API_KEY\"\n",
        "kind = \"anthropic\"\nbase_url = \"https://models.example\"\n\
         api_key = \"env:ANTHROPIC_API_KEY\"\n",
        "base_url = \"http://127.0.0.1:1/v1\"\napi_key = \"none\"\n",
        "kind = \"vllm\"\nbase_url = \"http://127.0.0.1:2/v1\"\n\n",
        "name = \"blank\"\nprovider = \"openai\"\n",
        "name = \"at-home\"\nprovider = \"groq\"\n",
    ] {
        assert!(toml.contains(lines), "{lines}: {toml}");
    }
    // At the vendor's own address its variable is read without being named.
    assert!(!toml.contains("[providers.groq]"), "{toml}");
    assert_eq!(toml.matches("api_key").count(), 3, "{toml}");
}

#[test]
fn a_token_of_entra_is_sent_as_one() {
    let (toml, ignored) = import(
        r#"
model_list:
  - model_name: variable
    litellm_params:
      model: azure/g
      api_base: https://one.openai.azure.com
      azure_ad_token: os.environ/AZURE_AD_TOKEN
  - model_name: beside-a-key
    litellm_params:
      model: azure/g
      api_base: https://two.openai.azure.com
      api_key: os.environ/AZURE_API_KEY
      azure_ad_token: t0
  - model_name: empty
    litellm_params:
      model: azure/g
      api_base: https://three.openai.azure.com
      api_key: os.environ/AZURE_API_KEY
      azure_ad_token: ""
  - model_name: exchanged
    litellm_params:
      model: azure/g
      api_base: https://four.openai.azure.com
      client_id: c1
      azure_ad_token: oidc/github/api
"#,
    );
    for lines in [
        "base_url = \"https://one.openai.azure.com\"\napi_key = \"env:AZURE_AD_TOKEN\"\n\
         bearer = true\n",
        "base_url = \"https://two.openai.azure.com\"\napi_key = \"t0\"\nbearer = true\n",
        "base_url = \"https://three.openai.azure.com\"\napi_key = \"env:AZURE_API_KEY\"\n\n",
        "base_url = \"https://four.openai.azure.com\"\nclient_id = \"c1\"\n\n",
    ] {
        assert!(toml.contains(lines), "{lines}: {toml}");
    }
    let expected = "model_list[3].litellm_params.azure_ad_token: no equivalent in Prowess";
    assert_eq!(ignored, expected);
}

#[test]
fn a_profile_of_bedrock_is_called_and_is_known_as_its_model() {
    let profile = "arn:aws:bedrock:us-east-1:1:application-inference-profile/x1";
    let (toml, ignored) = import(&format!(
        r#"
model_list:
  - model_name: claude
    litellm_params:
      model: bedrock/us.anthropic.claude-sonnet-4-6
      model_id: {profile}
      aws_region_name: us-east-1
  - model_name: imported
    litellm_params:
      model: bedrock/llama/arn:aws:bedrock:us-east-1:1:imported-model/x2
      aws_region_name: us-east-1
  - model_name: static
    litellm_params: {{model: "bedrock/a*b"}}
"#
    ));
    for lines in [
        &*format!(
            "model = \"{profile}\"\nbase_model = \"bedrock/us.anthropic.claude-sonnet-4-6\"\n"
        ),
        "model = \"arn:aws:bedrock:us-east-1:1:imported-model/x2\"",
    ] {
        assert!(toml.contains(lines), "{lines}: {toml}");
    }
    let expected = "model_list[2]: a * is only allowed at the end of a model";
    assert_eq!(ignored, expected);
}

#[test]
fn what_is_known_of_a_deployment_is_named_and_what_is_not_known_is_reported() {
    let (toml, ignored) = import(
        r"
model_list:
  - model_name: gemini
    litellm_params: {model: openai/mine, api_base: 'http://127.0.0.1:1/v1'}
    model_info: {base_model: gemini/gemini-2.5-pro}
  - model_name: other
    litellm_params: {model: openai/mine, base_model: openai/none}
  - model_name: prod
    litellm_params:
      model: azure/prod-chat
      api_base: https://acme.openai.azure.com
      input_cost_per_token: 0.000001
      output_cost_per_token: 0.000002
    model_info: {base_model: azure/eu/gpt-5.1-2025-11-13}
  - model_name: same
    litellm_params:
      model: azure/same-chat
      api_base: https://acme.openai.azure.com
      base_model: gpt-5.1
",
    );
    for lines in [
        "model = \"mine\"\nbase_model = \"gemini/gemini-2.5-pro\"\n\n",
        "model = \"mine\"\n\n",
        // Its own prices win.
        "model = \"prod-chat\"\nbase_model = \"azure/gpt-5.1-2025-11-13\"\ninput_price = 1.0\n\
         output_price = 2.0\n",
        "model = \"same-chat\"\nbase_model = \"azure/gpt-5.1\"\n",
    ] {
        assert!(toml.contains(lines), "{lines}: {toml}");
    }
    let no_key = "it has no api_key, so tokens of Entra ID are used; for a key set api_key = \
                  \"env:AZURE_API_KEY\" in its provider";
    let expected = format!(
        "model_list[1]: its base_model `openai/none` is not a known model\n\
         model_list[2]: {no_key}\nmodel_list[3]: {no_key}"
    );
    assert_eq!(ignored, expected);
}

#[test]
fn credentials_of_google_as_text_are_reported_and_never_repeated() {
    let (toml, ignored) = import(
        r#"
model_list:
  - model_name: gemini
    litellm_params:
      model: vertex_ai/gemini-3-pro
      vertex_project: acme
      vertex_credentials: '{"private_key": "secret"}'
"#,
    );
    assert!(!toml.contains("secret"), "{toml}");
    assert_eq!(
        ignored,
        "model_list[0].litellm_params.vertex_credentials: no equivalent in Prowess: credentials \
         as text; write them to a file, and set its path"
    );
}

#[test]
fn vendors_that_are_compatible_with_openai_need_no_address() {
    let (toml, ignored) = import(
        r"
model_list:
  - {model_name: a, litellm_params: {model: nebius/deepseek-ai/DeepSeek-V3}}
  - {model_name: b, litellm_params: {model: vercel_ai_gateway/openai/gpt-5.1}}
",
    );
    assert_eq!(ignored, "");
    for lines in [
        "base_url = \"https://api.studio.nebius.ai/v1\"\napi_key = \"env:NEBIUS_API_KEY\"",
        "provider = \"nebius\"\nmodel = \"deepseek-ai/DeepSeek-V3\"",
        "provider = \"vercel_ai_gateway\"\nmodel = \"openai/gpt-5.1\"",
    ] {
        assert!(toml.contains(lines), "{lines}: {toml}");
    }
}
