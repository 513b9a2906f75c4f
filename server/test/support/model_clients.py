"""Asks the model gateway, by its address and token, with the providers' own clients. Prints what came as JSON."""

import json
import sys

import anthropic
import openai
from google import genai

url, token = sys.argv[1:]
prompt = [{"role": "user", "content": "Say hello."}]
told = {}

client = openai.OpenAI(api_key=token, base_url=f"{url}/openai/v1", max_retries=0)
chat = client.chat.completions.create(model="gpt-scripted", messages=prompt)
told["openai chat"] = chat.choices[0].message.content
stream = client.chat.completions.create(model="gpt-scripted", messages=prompt, stream=True)
told["openai chat stream"] = "".join(c.choices[0].delta.content or "" for c in stream if c.choices)
told["openai responses"] = client.responses.create(model="gpt-scripted", input="Say hello.").output_text
with client.responses.stream(model="gpt-scripted", input="Say hello.") as responses:
    told["openai responses stream"] = responses.get_final_response().output_text
told["openai response"] = client.responses.retrieve("resp_1").id
told["openai embeddings"] = (
    client.embeddings.create(model="embed-scripted", input="x", encoding_format="float").data[0].embedding
)
told["openai completions"] = client.completions.create(model="gpt-scripted", prompt="x").choices[0].text
told["openai models"] = [model.id for model in client.models.list()]
told["openai model"] = client.models.retrieve("vendor/gpt-scripted").id

claude = anthropic.Anthropic(api_key=token, base_url=f"{url}/anthropic", max_retries=0)
asked = {"model": "claude-scripted", "messages": prompt}
told["anthropic"] = claude.messages.create(max_tokens=100, **asked).content[0].text
with claude.messages.stream(max_tokens=100, **asked) as messages:
    told["anthropic stream"] = messages.get_final_text()
told["anthropic beta"] = claude.beta.messages.create(max_tokens=100, **asked).content[0].text
told["anthropic tokens"] = claude.messages.count_tokens(**asked).input_tokens
told["anthropic models"] = [model.id for model in claude.models.list()]
told["anthropic model"] = claude.models.retrieve("claude-scripted").display_name

for version in ("v1", "v1beta", "v1alpha"):
    google = genai.Client(api_key=token, http_options={"base_url": f"{url}/google", "api_version": version})
    ask = {"model": "gemini-scripted", "contents": "Say hello."}
    told[f"google {version}"] = google.models.generate_content(**ask).text
    told[f"google {version} stream"] = "".join(
        part.text or "" for part in google.models.generate_content_stream(**ask)
    )
    told[f"google {version} tokens"] = google.models.count_tokens(**ask).total_tokens
    embedded = google.models.embed_content(model="embed-scripted", contents="x")
    told[f"google {version} embeddings"] = embedded.embeddings[0].values
    told[f"google {version} models"] = [model.name for model in google.models.list()]
    told[f"google {version} model"] = google.models.get(model="gemini-scripted").display_name

google = genai.Client(api_key=token, http_options={"base_url": f"{url}/google"})
told["google interactions"] = google.interactions.create(model="gemini-scripted", input="Say hello.").id

print(json.dumps(told))
