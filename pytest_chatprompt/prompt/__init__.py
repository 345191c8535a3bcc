"""The conversion: a case becomes the request that a provider gets.

In: an `EvalCase` and the run's `FileReader`, which reads the files that the case names. Out: a `ProviderRequest` with
the chat prompt, the transcript and the files.
Start at `request.build_request`. How a part is written is in `part_rendering`, the rules for messages are in
`conversion`. Imports `cases`; every later room may import this one. It knows neither pytest nor HTTP.
"""
