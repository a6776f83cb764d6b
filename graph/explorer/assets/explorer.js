// Starts GraphiQL with the settings that the server wrote into the page.
(function () {
  "use strict";

  const root = document.getElementById("explorer");

  if (!window.React || !window.ReactDOM || !window.GraphiQL) {
    root.textContent = "The explorer's scripts did not load. Reload the page to try again.";
    return;
  }

  const settings = JSON.parse(document.getElementById("settings").textContent);

  // GraphiQL's dialogs add a style element while they are open. They look here
  // for the nonce that the page's Content-Security-Policy asks of it.
  window.__webpack_nonce__ = settings.styleNonce;

  const defaultHeaders =
    Object.keys(settings.defaultHeaders).length > 0
      ? JSON.stringify(settings.defaultHeaders, null, 2)
      : undefined;

  const storage = keepNoHeaders(
    // Other tools on the same host, often localhost, may be GraphiQL as well
    // and must not find our tabs, nor we theirs.
    GraphiQL.createLocalStorage({ namespace: "holdfast-explorer" }),
  );

  // Headers carry credentials, which do not belong in the browser's storage.
  // GraphiQL leaves them out of its tabs when told so, but not out of its
  // history. An operation taken from the history gets today's default headers,
  // which also spares its user a key that has been replaced since.
  function keepNoHeaders(kept) {
    const isHistory = (key) => key === "graphiql:queries" || key === "graphiql:favorites";
    const withHeaders = (text, headers) => {
      const lists = Object.entries(JSON.parse(text)).map(([name, operations]) => [
        name,
        operations.map((operation) => ({ ...operation, headers: headers })),
      ]);
      return JSON.stringify(Object.fromEntries(lists));
    };
    return Object.assign(Object.create(kept), {
      setItem: (key, value) => kept.setItem(key, isHistory(key) ? withHeaders(value, undefined) : value),
      getItem: (key) => {
        const value = kept.getItem(key);
        return value !== null && isHistory(key) ? withHeaders(value, defaultHeaders) : value;
      },
    });
  }

  // GraphiQL asks for the schema before its headers editor exists, and so
  // without the headers that the endpoint may demand.
  const send = GraphiQL.createFetcher({ url: settings.endpoint });
  function fetcher(request, options) {
    if (request.operationName === "IntrospectionQuery" && !options?.headers) {
      return send(request, { ...options, headers: settings.defaultHeaders });
    }
    return send(request, options);
  }

  const props = {
    fetcher: fetcher,
    storage: storage,
    defaultQuery: settings.defaultQuery,
    defaultHeaders: defaultHeaders,
    defaultEditorToolsVisibility: defaultHeaders ? "headers" : "variables",
    shouldPersistHeaders: false,
  };

  // GraphiQL ignores defaultQuery when it finds tabs of an earlier visit. A
  // query that differs from the one shown then opens in a tab of its own.
  try {
    const shownBefore = storage.getItem("defaultQuery");
    if (shownBefore !== null && shownBefore !== settings.defaultQuery) {
      props.query = settings.defaultQuery;
      props.variables = "";
    }
    storage.setItem("defaultQuery", settings.defaultQuery);
  } catch (error) {
    // Browsers may deny storage. The explorer then starts afresh each time.
    console.warn("The browser keeps nothing for the explorer:", error);
    props.storage = { length: 0, getItem: () => null, setItem() {}, removeItem() {}, clear() {} };
  }

  const h = React.createElement;
  root.textContent = "";
  ReactDOM.createRoot(root).render(h(GraphiQL, props, h(GraphiQL.Logo, null, settings.title)));
})();
