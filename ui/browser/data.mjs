// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Made-up documents for the fixture server: little, much and hostile. Times are relative to the start of the server.
const ago = (now, minutes) => new Date(now - minutes * 60_000).toISOString();
const at = (now, minutes) => new Date(now + minutes * 60_000).toISOString();
const ref = (kind, namespace, name) => ({ kind, namespace, name });
const status = (tone, word, since, message) => ({ tone, word, ...(since ? { since } : {}), ...(message ? { message } : {}) });
const progress = (all, done, running = 0, failed = 0, waiting = 0) => ({ all, done, running, failed, waiting });

const clusters = ["ap", "eu", "sa", "us"];

const action = (id, label, command, more = {}) => ({ id, label, command, ...more });

export function shopActions() {
  return [
    action("reconcile", "Reconcile", "espalier reconcile shop -n shop-dev-sa", { confirm: "Reconcile shop in shop-dev-sa?", explanation: "A new job begins. What is done stays as it is." }),
    action("interrupt", "Interrupt", "espalier interrupt shop -n shop-dev-sa", { confirm: "Interrupt the job of shop?", explanation: "What runs is marked as failed; objects in targets stay." }),
    action("abort", "Abort", "espalier abort shop -n shop-dev-sa", { denied: "You need patch on installations in shop-dev-sa. Ask whoever manages that namespace." }),
    action("delete", "Delete shop", "espalier delete shop -n shop-dev-sa", { danger: true, confirm: "Delete shop and 41 objects on dev-sa?", explanation: "Everything that it has deployed is deleted, too." }),
  ];
}

function environment(now, name, revision, tone, word, more = {}) {
  const failing = tone === "failed" ? 1 : 0;
  return {
    name, status: status(tone, word, ago(now, 19)), revision, since: ago(now, more.minutes ?? 1480), progress: progress(4, 4 - failing, 0, failing),
    targets: clusters.map((c) => ({
      cluster: `${name}-${c}`, namespace: `shop-${name}-${c}`, revision, ready: !(failing && c === "sa"),
      status: failing && c === "sa" ? status("failed", "Failed", ago(now, 19), "payments failed") : status("done", "Ready"),
    })),
    gates: more.gates ?? [], actions: more.actions ?? [], ...(more.coming ? { coming: more.coming } : {}), ...(more.approval ? { approval: more.approval } : {}),
    ...(more.request ? { request: more.request } : {}),
  };
}

export const request = (number, state, more = {}) => ({ url: `https://git.example.org/shop/fleet/pulls/${number}`, number, state, ...more });

const hold = (env) => action("hold", `Hold ${env}`, `espalier pipeline hold shop ${env} -n shop`, { confirm: `Hold promotions into ${env}?`, explanation: "Nothing is promoted there until somebody releases it." });

export function pipelineEnvironments(now) {
  return [
    environment(now, "dev", "1.9.0", "failed", "Failing", { minutes: 19, actions: [hold("dev"), action("retry", "Retry dev", "espalier pipeline retry shop dev -n shop", { unavailable: "Nothing has failed that could be tried again." })] }),
    environment(now, "staging", "1.8.2", "done", "Settled", {
      coming: "1.9.0", actions: [hold("staging")],
      gates: [
        { kind: "health", label: "Dev must settle", state: "failed", detail: "dev-sa fails" },
        { kind: "soak", label: "Soak 2 h", state: "not-reached", detail: "starts after that" },
        { kind: "strategy", label: "Pull request", state: "not-reached", detail: "merges by itself" },
      ],
    }),
    environment(now, "prod", "1.8.1", "done", "Settled", {
      minutes: 9 * 1440, coming: "1.8.2",
      gates: [
        { kind: "soak", label: "Soak 24 h", state: "passed", since: ago(now, 41) },
        { kind: "window", label: "Window Mon to Thu", state: "counting", until: at(now, 159), detail: "open until 17:00" },
        { kind: "approval", label: "Your approval", state: "yours", since: ago(now, 41) },
        { kind: "strategy", label: "Pull request", state: "not-reached", detail: "opens after approval" },
      ],
      actions: [
        action("approve", "Approve 1.8.2 for prod", "espalier approve shop prod -n shop --revision 1.8.2", { confirm: "Approve 1.8.2 for prod?", explanation: "A pull request with 7 changes is opened for 4 clusters." }),
        action("reject", "Reject", "espalier pipeline reject shop prod -n shop --revision 1.8.2", { confirm: "Reject 1.8.2 for prod?" }),
        hold("prod"),
      ],
      approval: {
        revision: "1.8.2", from: "1.8.1", since: ago(now, 41),
        facts: [{ label: "Fields", text: "5 change in 3 files" }, { label: "Targets", text: "4 clusters" }, { label: "Deleted", text: "Nothing" }],
        changes: [
          { object: "prod/orders-api.yaml", field: "spec.template.spec.containers[0].image", before: "shop/orders-api:5.11.0", after: "shop/orders-api:5.12.1" },
          { object: "prod/orders-api.yaml", field: "spec.template.spec.containers[0].env", before: "- name: PAYMENTS_TIMEOUT\n  value: 2s", after: "- name: PAYMENTS_TIMEOUT\n  value: 5s\n- name: ORDERS_RETRY_BUDGET\n  value: \"0.1\"" },
          { object: "prod/storefront.yaml", field: "spec.replicas", before: "12", after: "8" },
          { object: "prod/cart-api.yaml", field: "spec.template.spec.containers[0].image", before: "shop/cart-api:2.0.0", after: "shop/cart-api:2.0.1" },
          { object: "prod/cart-api.yaml", field: "metadata.labels.tier", after: "front" },
        ],
      },
    }),
  ];
}

export function needs(now) {
  return [
    { id: "n1", tone: "failed", subject: ref("Installation", "shop-dev-sa", "shop"), cause: ref("DeployItem", "shop-dev-sa", "payments-api"), title: "payments failed in shop · dev-sa", reason: "Failed", message: "Its image has no build for arm64 nodes, so 0 of 3 pods start.", holdsUp: 2, since: ago(now, 4), command: "espalier why shop -n shop-dev-sa", button: "See why" },
    { id: "n2", tone: "person", subject: ref("Pipeline", "shop", "shop"), cause: ref("Pipeline", "shop", "shop"), title: "Approve shop 1.8.2 for prod", reason: "WaitingForApproval", message: "7 objects change on 4 clusters. Soak and window have passed; the window closes at 17:00.", holdsUp: 0, since: ago(now, 41), command: "espalier pipeline why shop -n shop", button: "Review changes" },
    { id: "n3", tone: "waits", subject: ref("Installation", "shop-dev-sa", "mail"), cause: ref("Secret", "shop-dev-sa", "smtp-credentials"), title: "mail waits for import smtpCredentials", reason: "ImportMissing", message: "Secret smtp-credentials does not exist in shop-dev-sa, and no installation exports it.", holdsUp: 0, since: ago(now, 14), command: "espalier why mail -n shop-dev-sa", button: "See why" },
  ];
}

const row = (now, namespace, name, st, flow, p, more = {}) => ({ ref: ref("Installation", namespace, name), status: st, progress: p, flow, ...more });

function fleet(now, name, environments, flow, days, version) {
  return environments.flatMap((env) => clusters.map((c) => row(now, `${name}-${env}-${c}`, name, status("done", "Succeeded", ago(now, days * 1440)), flow, progress(6, 6), { component: `example.org/${name}`, version })));
}

export function overview(now) {
  const installations = [
    row(now, "shop-dev-sa", "shop", status("works", "Progressing", ago(now, 19)), "Job", progress(13, 9, 0, 1, 3), { component: "example.org/shop", version: "1.9.0", waitsFor: "payments failed: no image for arm64" }),
    ...fleet(now, "shop", ["staging", "prod"], "Job", 2, "1.8.2"),
    ...fleet(now, "ingress", ["dev", "staging", "prod"], "Continuous", 3, "4.2.0"),
    ...fleet(now, "monitoring", ["dev", "staging", "prod"], "Continuous", 0.5, "2.9.1"),
    ...fleet(now, "cert-manager", ["dev", "staging", "prod"], "Continuous", 5, "1.21.0"),
    ...fleet(now, "backup", ["dev", "prod"], "Job", 2, "0.8.3"),
    row(now, "analytics-eu", "analytics", status("works", "Progressing", ago(now, 6)), "Job", progress(9, 4, 1), { waitsFor: "migration step 4 of 9" }),
    row(now, "analytics-us", "analytics", status("works", "ObjectsCreated", ago(now, 7)), "Job", progress(9, 3, 1)),
    row(now, "analytics-ap", "analytics", status("done", "Succeeded", ago(now, 200)), "Job", progress(9, 9)),
    row(now, "loadtest-eu", "loadtest", status("going", "Deleting", ago(now, 1)), "Job", progress(5, 3, 2), { waitsFor: "2 of 5 objects are left" }),
    row(now, "blog", "blog", status("not-yet", "NotStarted", ago(now, 1200)), "Job", progress(2, 0), { waitsFor: "No job requested yet: set the annotation landscaper.gardener.cloud/operation=reconcile" }),
  ];
  const soaking = [
    environment(now, "dev", "3.4.0", "done", "Settled"),
    environment(now, "staging", "3.3.2", "done", "Settled", { coming: "3.4.0", gates: [{ kind: "soak", label: "soaks", state: "counting", until: at(now, 38) }] }),
    environment(now, "prod", "3.3.2", "done", "Settled"),
  ];
  return {
    now: new Date(now).toISOString(), verdict: "3 things need you", needs: needs(now), soon: ["the certificate of target staging-sa expires in 6 days."],
    pipelines: [
      { ref: ref("Pipeline", "shop", "shop"), status: status("person", "WaitingForApproval", ago(now, 41)), latest: "1.9.0", moving: true, environments: pipelineEnvironments(now).map(({ approval: _, ...env }) => env) },
      { ref: ref("Pipeline", "catalog", "catalog-api"), status: status("waits", "Soaking", ago(now, 80)), latest: "3.4.0", moving: true, environments: soaking },
      { ref: ref("Pipeline", "search", "search"), status: status("done", "Complete", ago(now, 8000)), latest: "0.22.1", moving: false, environments: [environment(now, "dev", "0.22.1", "done", "Settled"), environment(now, "prod", "0.22.1", "done", "Settled")] },
    ],
    installations, hidden: [],
  };
}

const columns = { network: [0, 0], postgres: [0, 1], redis: [0, 2], kafka: [0, 3], smtp: [0, 4], certificates: [1, 0], catalog: [1, 1], cart: [1, 2], payments: [1, 3], mail: [1, 4], identity: [2, 0], search: [2, 1], orders: [2, 3], storefront: [3, 1.5] };
const edges = [
  ["network", "certificates", "cidr"], ["postgres", "catalog", "dbUrl"], ["redis", "cart", "cacheUrl"], ["certificates", "identity", "issuer"], ["postgres", "identity", "dbUrl"],
  ["catalog", "search", "catalogUrl"], ["identity", "storefront", "authUrl"], ["search", "storefront", "searchUrl"], ["cart", "storefront", "cartUrl"],
  ["postgres", "payments", "dbCredentials"], ["kafka", "payments", "brokers"], ["kafka", "mail", "brokers"], ["smtp", "mail", "smtpCredentials", "missing"],
  ["payments", "orders", "apiUrl", "cut"], ["orders", "storefront", "ordersUrl", "cut"],
];

function nodeAt(name) {
  const [column, line] = columns[name];
  return { x: 10 + column * 216, y: 16 + line * 88 };
}

function pathOf(from, to) {
  const a = nodeAt(from);
  const b = nodeAt(to);
  const [x1, y1, x2, y2] = [a.x + 148, a.y + 25, b.x, b.y + 25];
  const mid = (x1 + x2) / 2;
  return `M${x1} ${y1}C${mid} ${y1} ${mid} ${y2} ${x2} ${y2}`;
}

function labelAt(from, to) {
  const [a, b] = [nodeAt(from), nodeAt(to)];
  return { labelX: (a.x + 148 + b.x) / 2, labelY: (a.y + b.y) / 2 + 20 };
}

// Minutes since the start of the job: waits until, works until; the last is the state.
const parts = {
  network: [0, 1.6, "done"], postgres: [0, 3.5, "done"], redis: [0, 1.1, "done"], kafka: [0, 4.1, "done"], certificates: [1.6, 2.5, "done", ["network"]],
  catalog: [3.5, 5, "done", ["postgres"]], cart: [1.1, 2, "done", ["redis"]], payments: [4.1, 15, "failed", ["postgres", "kafka"]], mail: [4.1, null, "waits", ["kafka"]],
  identity: [3.5, 5.6, "done", ["postgres", "certificates"]], search: [5, 6.6, "done", ["catalog"]], orders: [null, null, "not-yet", ["payments"]], storefront: [null, null, "not-yet", ["orders"]],
};
const words = { done: "Succeeded", failed: "Failed", waits: "Init", "not-yet": "Pending", works: "Progressing" };

const value = (name, state, more = {}) => ({ name, kind: "data", state, ...more });

/** exportsOf returns the exports of a part of the shop, with their importers. */
function exportsOf(name) {
  const holder = (reference) => ({ source: ref("DataObject", "shop-dev-sa", `${reference.toLowerCase()}-2fq7x`), reference });
  const shop = (...names) => names.map((each) => ref("Installation", "shop-dev-sa", each));
  if (name === "payments") return [value("apiUrl", "not-written", { type: "string", ...holder("apiUrl"), takers: shop("orders") })];
  if (name === "postgres") return [value("url", "there", { type: "string", ...holder("dbUrl"), takers: shop("catalog", "identity", "payments"), otherTakers: 2 })];
  return [];
}

export function installation(now) {
  const began = now - 19 * 60_000;
  const t = (minutes) => new Date(began + minutes * 60_000).toISOString();
  const id = (name) => `Installation/shop-dev-sa/${name}`;
  const rows = [{
    id: id("shop"), ref: ref("Installation", "shop-dev-sa", "shop"), depth: 0, title: "shop", status: status("works", "Progressing", t(0)), spans: [{ what: "works", tone: "works", start: t(0) }],
    waitedFor: [], imports: [value("cluster", "there", { kind: "target", source: ref("Target", "shop-dev-sa", "dev-sa") })], exports: [], objects: [],
  }];
  for (const [name, [from, to, tone, waited = []]] of Object.entries(parts)) {
    const spans = [];
    if (from === null) spans.push({ what: "waits", tone: "not-yet", start: t(0) });
    else {
      if (from > 0) spans.push({ what: "waits", tone: "not-yet", start: t(0), end: t(from) });
      if (to === null) spans.push({ what: "waits", tone: "waits", start: t(from) });
      else spans.push({ what: "init", tone, start: t(from), end: t(from + 0.12) }, { what: "works", tone, start: t(from + 0.12), end: t(to) });
    }
    const payments = name === "payments";
    const waitsFor = { orders: "waits for payments", storefront: "waits for orders", mail: "needs import smtpCredentials", payments: "1 of 2 deploy items failed" }[name];
    rows.push({
      id: id(name), ref: ref("Installation", "shop-dev-sa", name), depth: 1, parent: id("shop"), title: name, status: status(tone, words[tone], t(to ?? from ?? 0), payments ? "deploy item payments-api is not ready within 10 min" : undefined),
      ...(waitsFor ? { waitsFor } : {}), spans, waitedFor: waited.map(id),
      imports: payments ? [
        value("dbCredentials", "there", { type: "object", source: ref("Secret", "shop-dev-sa", "db-credentials"), giver: ref("Installation", "shop-dev-sa", "postgres"), key: "value", secret: true }),
        value("brokers", "there", { type: "list of string", source: ref("DataObject", "shop-dev-sa", "brokers"), giver: ref("Installation", "shop-dev-sa", "kafka") }),
        value("replicas", "default", { type: "integer", default: "3" }),
      ] : name === "mail" ? [value("smtpCredentials", "missing", { type: "object", source: ref("Secret", "shop-dev-sa", "smtp-credentials") })] : [],
      exports: exportsOf(name), objects: [], ...(payments ? { target: "dev-sa" } : {}),
    });
    if (payments) {
      rows.push({ id: "Execution/shop-dev-sa/payments", ref: ref("Execution", "shop-dev-sa", "payments"), depth: 2, parent: id(name), title: "payments", status: status("failed", "Failed", t(15)), waitsFor: "deploy item api failed", spans: [{ what: "works", tone: "failed", start: t(4.3), end: t(15) }], waitedFor: [], imports: [], exports: [], objects: [] });
      rows.push(item("payments-schema", "done", "Succeeded", 4.4, 5, "Job finished"), item("payments-api", "failed", "Failed", 5, 15, "not ready within 10 min"));
    } else if (tone === "done") {
      rows.push({ ...item(`${name}-chart`, "done", "Succeeded", from + 0.2, to, ""), parent: id(name), depth: 2 });
    }
  }
  function item(name, tone, word, from, to, waitsFor) {
    return {
      id: `DeployItem/shop-dev-sa/${name}`, ref: ref("DeployItem", "shop-dev-sa", name), depth: 3, parent: "Execution/shop-dev-sa/payments", title: name, status: status(tone, word, t(to), tone === "failed" ? "Deployment payments-api: 0 of 3 pods are ready" : undefined),
      ...(waitsFor ? { waitsFor } : {}), type: "landscaper.gardener.cloud/kubernetes-manifest", target: "dev-sa", spans: [{ what: "works", tone, start: t(from), end: t(to) }], waitedFor: [], imports: [], exports: [],
      objects: [{ apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name }, { apiVersion: "v1", kind: "Service", namespace: "shop", name }, { apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: `${name}-settings` }],
    };
  }
  const details = { payments: "0 of 3 pods start", mail: "import is missing", orders: "waits for payments", storefront: "waits for orders", smtp: "Secret, not found" };
  return {
    now: new Date(now).toISOString(), ref: ref("Installation", "shop-dev-sa", "shop"), exists: true, verdict: "shop cannot finish: payments failed", status: status("works", "Progressing", t(0)),
    progress: progress(13, 9, 0, 1, 3), flow: "Job", component: "example.org/shop", version: "1.9.0", blueprint: "shop",
    why: {
      tone: "failed", answer: "The image of payments has no build for arm64, and all nodes of dev-sa are arm64.", quote: "no match for platform in manifest: shop/payments-api:2.14.1, linux/arm64", quotedBy: "Kubelet",
      reference: "https://docs.example.org/docs/reference/errors.html#progressingtimeout",
      chain: [
        { ref: ref("Installation", "shop-dev-sa", "shop"), status: status("works", "Progressing", undefined, "1 failed, 3 wait") }, { ref: ref("Installation", "shop-dev-sa", "payments"), status: status("failed", "Failed") },
        { ref: ref("Execution", "shop-dev-sa", "payments"), status: status("failed", "Failed") },
        { ref: ref("DeployItem", "shop-dev-sa", "payments-api"), status: status("failed", "Failed", undefined, "10 min limit passed") },
      ],
      next: "Build shop/payments-api:2.14.1 for linux/arm64, or use a version that has it. Then start a new job.", commands: ["espalier why shop -n shop-dev-sa", "espalier reconcile shop -n shop-dev-sa"],
      holdsUp: [ref("Installation", "shop-dev-sa", "orders"), ref("Installation", "shop-dev-sa", "storefront")], others: ["mail needs import smtpCredentials"],
    },
    graph: {
      width: 816, height: 432,
      nodes: Object.keys(columns).map((name) => {
        const part = parts[name];
        return {
          id: part ? id(name) : "Secret/shop-dev-sa/smtp-credentials", ...nodeAt(name), width: 148, height: 50, title: part ? name : "smtp-credentials", detail: details[name] ?? `${Math.round((part[1] - part[0]) * 60)} s`,
          status: part ? status(part[2], words[part[2]]) : status("waits", "missing"), ...(part ? {} : { ghost: true }),
        };
      }),
      edges: edges.map(([from, to, label, state = "there"]) => ({ from: from === "smtp" ? "Secret/shop-dev-sa/smtp-credentials" : id(from), to: id(to), label, state, path: pathOf(from, to), ...labelAt(from, to) })),
    },
    rows, job: { id: "7f3ac2", start: t(0) }, past: past(now), actions: shopActions(),
    events: [
      { time: ago(now, 4), tone: "failed", reason: "Failed", message: "payments-api was not ready within 10 min", by: "deployer-manifest", about: ref("DeployItem", "shop-dev-sa", "payments-api"), count: 1 },
      { time: ago(now, 6), tone: "waits", reason: "NotReady", message: "Deployment payments-api: 0 of 3 pods are ready", by: "deployer-manifest", about: ref("DeployItem", "shop-dev-sa", "payments-api"), count: 12 },
      { time: ago(now, 14), tone: "waits", reason: "ImportMissing", message: "import smtpCredentials: Secret smtp-credentials does not exist", by: "installations", about: ref("Installation", "shop-dev-sa", "mail"), count: 1 },
      { time: ago(now, 19), tone: "works", reason: "JobStarted", message: "job 7f3ac2 begins", by: "installations", about: ref("Installation", "shop-dev-sa", "shop"), count: 1 },
    ],
    hidden: [],
  };
}

export function pipeline(now) {
  const mark = (environment, minutes, tone = "done", more = {}) => ({ environment, time: ago(now, minutes), tone, ...more });
  return {
    now: new Date(now).toISOString(), ref: ref("Pipeline", "shop", "shop"), exists: true, verdict: "1.8.2 waits for your approval for prod.", status: status("person", "WaitingForApproval", ago(now, 41)),
    environments: pipelineEnvironments(now), leadTime: 352_800,
    lanes: [
      { revision: "1.9.0", ended: "moving", marks: [mark("dev", 19, "failed", { reason: "dev-sa fails" })] },
      { revision: "1.8.2", ended: "moving", marks: [mark("dev", 4000), mark("staging", 1481, "done", { request: request(214, "merged", { by: "Jun", time: ago(now, 1500) }) }), mark("prod", 41, "person", { reason: "needs approval" })] },
      { revision: "1.8.1", ended: "arrived", marks: [mark("dev", 19_000), mark("staging", 16_000), mark("prod", 13_000, "done", { by: "user", request: request(198, "merged", { by: "user", time: ago(now, 13_100) }) })] },
      { revision: "1.8.0", ended: "rejected", marks: [mark("dev", 25_000), mark("staging", 23_500), mark("prod", 22_000, "stopped", { by: "Jun", reason: "Rejected, “after the sale”", request: request(187, "closed", { by: "Jun", time: ago(now, 21_900) }) })] },
      { revision: "1.7.4", ended: "arrived", marks: [mark("dev", 40_000), mark("staging", 36_000), mark("prod", 31_300, "done", { by: "Jun" })] },
    ],
    actions: [action("hold", "Hold", "espalier pipeline hold shop -n shop", { confirm: "Hold all promotions of shop?" }), action("promote", "Promote", "espalier promote shop -n shop", { denied: "You need patch on pipelines in shop. Ask whoever manages namespace shop." })],
    events: [{ time: ago(now, 41), tone: "person", reason: "WaitingForApproval", message: "revision 1.8.2 needs approval for environment prod", by: "pipelines", about: ref("Pipeline", "shop", "shop"), count: 1 }], hidden: [],
  };
}

export function targets(now) {
  const rows = ["dev", "staging", "prod"].flatMap((env) => clusters.map((c) => {
    const bad = env === "prod" && c === "sa";
    return {
      ref: ref("Target", `shop-${env}-${c}`, `${env}-${c}`), type: "landscaper.gardener.cloud/kubernetes-cluster", status: bad ? status("failed", "Unreachable", ago(now, 12)) : status("done", "Reachable"),
      runs: [ref("Installation", `shop-${env}-${c}`, "shop"), ref("Installation", `ingress-${env}-${c}`, "ingress")],
      check: { at: ago(now, 1), reachable: !bad, ...(bad ? { error: "x509: certificate has expired or is not yet valid: current time is after 12 Nov" } : { version: "1.36.2" }), expires: at(now, (bad ? -3 : env === "staging" && c === "sa" ? 6 : 200) * 1440), expiring: bad ? "server certificate" : "token", milliseconds: 14 },
    };
  }));
  return { now: new Date(now).toISOString(), verdict: "1 of 12 targets cannot be read", rows, hidden: [] };
}

const shopBlueprint = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
  - name: cluster
    type: target
    targetType: landscaper.gardener.cloud/kubernetes-cluster
  - name: replicas
    type: data
    schema:
      type: integer
  - name: domains
    type: data
    schema:
      type: array
      items:
        type: string
subinstallations:
  - apiVersion: landscaper.gardener.cloud/v1alpha1
    kind: InstallationTemplate
    name: database
    blueprint:
      ref: cd://resources/database
    imports:
      targets:
        - name: cluster
          target: cluster
    exports:
      data:
        - name: url
          dataRef: dbUrl
        - name: credentials
          dataRef: dbCredentials
  - apiVersion: landscaper.gardener.cloud/v1alpha1
    kind: InstallationTemplate
    name: api
    blueprint:
      ref: cd://resources/api
    imports:
      data:
        - name: database
          dataRef: dbUrl
        - name: credentials
          dataRef: dbCredentials
        - name: replicas
          dataRef: replicas
      targets:
        - name: cluster
          target: cluster
    exports:
      data:
        - name: url
          dataRef: apiUrl
deployExecutions:
  - name: web
    type: GoTemplate
    template: |
      deployItems:
      - name: storefront
        target:
          name: {{ .imports.cluster.metadata.name }}
        config:
          hosts: {{ toJson .imports.domains }}
exportExecutions:
  - name: addresses
    type: GoTemplate
    template: |
      exports:
        url: {{ .values.deployitems.storefront.url }}
        apiUrl: {{ .values.dataobjects.apiUrl }}
exports:
  - name: url
    type: data
    schema:
      type: string
  - name: apiUrl
    type: data
    schema:
      type: string
`;

/** blueprint returns the graph and parts of the blueprint above, as the server lays it out. */
export function blueprint() {
  const box = (id, x, y, title, detail, kind) => ({ id, x, y, width: 148, height: 50, title, detail, kind, status: status("not-yet", "") });
  const line = (from, to, label, path, labelX, labelY, target) => ({ from, to, ...(label ? { label } : {}), state: "there", path, labelX, labelY, ...(target ? { target } : {}) });
  const nodes = [
    box("import/cluster", 16, 26, "cluster", "kubernetes-cluster", "target"),
    box("import/replicas", 16, 114, "replicas", "integer", "import"),
    box("import/domains", 16, 202, "domains", "list of string", "import"),
    box("installation/database", 232, 16, "database", "installation", "installation"),
    box("installation/api", 448, 64, "api", "installation", "installation"),
    box("deployExecutions/0", 232, 122, "web", "deploy items", "template"),
    box("exportExecutions/0", 664, 93, "addresses", "exports", "template"),
    box("export/url", 880, 49, "url", "string", "export"),
    box("export/apiUrl", 880, 137, "apiUrl", "string", "export"),
  ];
  const edges = [
    line("import/cluster", "installation/database", "", "M164 41H232", 198, 36, true),
    line("installation/database", "installation/api", "dbUrl, dbCredentials", "M380 41C414 41 414 79 448 79", 414, 55),
    line("import/replicas", "installation/api", "", "M164 139C198 139 198 103 232 103H380C414 103 414 99 448 99", 306, 98),
    line("import/cluster", "installation/api", "", "M164 51C198 51 198 85 232 85H380C414 85 414 89 448 89", 306, 80, true),
    line("import/cluster", "deployExecutions/0", "", "M164 61C198 61 198 142 232 142", 198, 96, true),
    line("import/domains", "deployExecutions/0", "", "M164 227C198 227 198 152 232 152", 198, 184),
    line("installation/api", "exportExecutions/0", "apiUrl", "M596 89C630 89 630 113 664 113", 630, 96),
    line("deployExecutions/0", "exportExecutions/0", "storefront", "M380 147C414 147 414 133 448 133H596C630 133 630 123 664 123", 522, 128),
    line("exportExecutions/0", "export/url", "", "M812 113C846 113 846 74 880 74", 846, 88),
    line("exportExecutions/0", "export/apiUrl", "", "M812 123C846 123 846 162 880 162", 846, 137),
  ];
  const target = "landscaper.gardener.cloud/kubernetes-cluster";
  return {
    name: "shop", source: shopBlueprint, graph: { width: 1044, height: 268, nodes, edges },
    imports: [{ name: "cluster", type: "target", schema: target }, { name: "replicas", type: "data", schema: "type: integer\n" }, { name: "domains", type: "data", schema: "items:\n  type: string\ntype: array\n" }],
    exports: [{ name: "url", type: "data", schema: "type: string\n" }, { name: "apiUrl", type: "data", schema: "type: string\n" }],
  };
}

function past(now) {
  const job = (id, tone, word, minutesAgo, took, message) => ({ id, status: status(tone, word, ago(now, minutesAgo), message), start: ago(now, minutesAgo + took), end: ago(now, minutesAgo) });
  return [
    job("51be07d2-0c1f", "done", "Succeeded", 1480, 9.2), job("0c91de44-77aa", "failed", "Failed", 2900, 14.6, "payments: deploy item payments-schema: Job payments-schema has failed 6 times"),
    job("a7c2f191-41b0", "done", "Succeeded", 4300, 8.4), job("9e44b0c3-1f02", "stopped", "Interrupted", 5800, 2.1, "interrupted by user@example.com"), job("e2f7a913-9b11", "done", "Succeeded", 8700, 9.9),
    job("3d19c5e0-5c2e", "done", "Succeeded", 14_400, 8.8), job("77ab0f12-d0d4", "done", "Succeeded", 20_200, 21.5), job("c01d5aa8-21c9", "done", "Succeeded", 28_900, 10.1),
  ];
}

const living = (kind, name, st, below = [], apiVersion = "v1") => ({ apiVersion, kind, namespace: "shop", name, status: st, below });

/** live returns the live objects of a deploy item: one that works, and one whose pods do not start. */
export function live(now, name) {
  const good = status("done", "Ready");
  const rest = [living("Service", name, good), living("ConfigMap", `${name}-settings`, status("done", "Exists"))];
  if (name !== "payments-api") {
    const set = living("ReplicaSet", `${name}-6f7c9b5d84`, good, ["4mkzt", "9wq2x"].map((end) => living("Pod", `${name}-6f7c9b5d84-${end}`, status("done", "Running", ago(now, 900)))), "apps/v1");
    return { objects: [living("Deployment", name, status("done", "2 of 2 ready"), [set], "apps/v1"), ...rest] };
  }
  const image = "no match for platform in manifest: shop/payments-api:2.14.1, linux/arm64";
  const pods = ["7xk2p", "m4v8d", "zz61q"].map((end, i) => living("Pod", `payments-api-5c9d7b6f4-${end}`, i === 2 ? status("waits", "Pending", ago(now, 12), "0/3 nodes are available: 3 Insufficient memory.") : status("failed", "ImagePullBackOff", ago(now, 12), image)));
  const set = living("ReplicaSet", "payments-api-5c9d7b6f4", status("works", "0 of 3 ready"), pods, "apps/v1");
  return { objects: [living("Deployment", "payments-api", status("failed", "0 of 3 ready", ago(now, 12), "Deployment has exceeded its progress deadline"), [set], "apps/v1"), ...rest] };
}

/** liveObject returns an object in its target, and what it was rendered as unless Kubernetes has created it. */
export function liveObject(query) {
  const kind = query.get("objectKind");
  const [name, namespace] = [query.get("objectName"), query.get("objectNamespace")];
  const head = `apiVersion: ${query.get("objectVersion")}\nkind: ${kind}\nmetadata:\n`;
  const spec = (image, more) => `spec:\n${more}  replicas: 3\n  selector:\n    matchLabels:\n      app: ${name}\n  template:\n    metadata:\n      labels:\n        app: ${name}\n    spec:\n      containers:\n      - name: api\n        image: ${image}\n        env:\n        - name: DATABASE_PASSWORD\n          value: <masked>\n`;
  const live = `${head}  name: ${name}\n  namespace: ${namespace}\n  generation: 4\n  resourceVersion: "481516"\n  uid: 7c1e2f64-31d0-4bb5-9d0e-6a1c8f0b2d17\n${spec("shop/payments-api:2.14.1", "  progressDeadlineSeconds: 600\n")}status:\n  observedGeneration: 4\n  replicas: 3\n  unavailableReplicas: 3\n`;
  if (kind === "Pod" || kind === "ReplicaSet") return { live };
  return { live, rendered: `${head}  name: ${name}\n${spec("shop/payments-api:2.14.1", "")}` };
}

/** declared is what a blueprint in a registry declares about the values of an installation. */
export const declared = {
  imports: [{ name: "dbCredentials", type: "object" }, { name: "brokers", type: "list of string" }, { name: "cluster", type: "kubernetes-cluster" }], exports: [{ name: "apiUrl", type: "string" }],
  defaults: [{ name: "replicas", kind: "data", type: "integer", state: "default", secret: false, default: "3" }],
};

/** logs returns the log lines of a deployer about a deploy item. */
export function logs(now, name) {
  const line = (minutes, level, text) => ({ time: ago(now, minutes), level, text });
  if (name !== "payments-api") return { lines: [], message: "The deployer runs in another process. Read its log with: kubectl logs -n espalier-system deploy/espalier-controller" };
  return {
    lines: [
      line(14, "info", "rendered 3 objects of blueprint shop/payments"), line(14, "info", "applied Deployment shop/payments-api"), line(14, "info", "applied Service shop/payments-api"),
      line(13.9, "debug", "field manager espalier owns spec.template.spec.containers[0].image"), line(12, "info", "Deployment shop/payments-api: 0 of 3 pods are ready"),
      line(8, "info", "Deployment shop/payments-api: 0 of 3 pods are ready"), line(4, "error", "Deployment shop/payments-api was not ready within 10 min: no match for platform in manifest: shop/payments-api:2.14.1, linux/arm64"),
    ],
  };
}

const yaml = (op, text) => text.split("\n").map((each) => ({ op, text: each }));

/** diff returns what the next job of the shop would change. */
export function diff() {
  const settings = Array.from({ length: 60 }, (_, i) => ({ op: i === 20 ? "-" : i === 21 ? "+" : " ", text: `    setting-${String(i).padStart(2, "0")}: ${i === 21 ? "warm" : "cold"}` }));
  return {
    notes: [
      "Taken from the last job, because only a job can compute it: export dbCredentials of shop/postgres.",
      "Not known before the job: installation shop/vouchers: waiting for export codes of shop/catalog.",
    ],
    objects: [
      {
        ref: ref("DeployItem", "shop-dev-sa", "payments-api"), title: "payments-api", within: "payments", change: "update",
        lines: [
          ...yaml(" ", "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DeployItem\nmetadata:\n  name: payments-api\n  labels:\n    app: payments\nspec:\n  type: landscaper.gardener.cloud/kubernetes-manifest\n  config:\n    manifests:\n    - spec:\n        replicas: 3\n        containers:"),
          ...yaml("-", "        - image: shop/payments-api:2.14.1"), ...yaml("+", "        - image: shop/payments-api:2.14.2"), ...yaml(" ", "          env:\n          - name: DATABASE_PASSWORD"), ...yaml("-", "            value: <masked>"), ...yaml("+", "            value: <masked>"),
          ...yaml(" ", "          - name: PAYMENTS_TIMEOUT\n            value: 2s"),
        ],
      },
      { ref: ref("Installation", "shop-dev-sa", "vouchers"), title: "vouchers", change: "create", lines: yaml("+", "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata:\n  name: vouchers\nspec:\n  blueprint:\n    ref:\n      resourceName: vouchers") },
      { ref: ref("DeployItem", "shop-dev-sa", "catalog-settings"), title: "catalog-settings", change: "update", lines: settings },
      { ref: ref("DeployItem", "shop-dev-sa", "payments-legacy"), title: "payments-legacy", change: "delete", lines: yaml("-", "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DeployItem\nmetadata:\n  name: payments-legacy") },
    ],
  };
}

/** access lists the calls of the server. */
export const access = [
  { path: "/api/v1/stream/overview", method: "GET", what: "The overview and the lists", rights: ["list on installations.landscaper.gardener.cloud", "list on pipelines.pipelines.weave.works"] },
  { path: "/api/v1/live", method: "GET", what: "What a deploy item has in its target", rights: ["get on targets.landscaper.gardener.cloud", "get on secrets"] },
  { path: "/api/v1/checks", method: "POST", what: "Look at the targets", rights: ["get on targets.landscaper.gardener.cloud"] },
  { path: "/api/v1/actions", method: "POST", what: "Approve a promotion", rights: ["patch on pipelines.pipelines.weave.works"] },
  { path: "installations.landscaper.gardener.cloud", method: "list, watch", what: "Installations, for all readers", rights: ["list installations.landscaper.gardener.cloud", "watch installations.landscaper.gardener.cloud"], server: true },
  { path: "subjectaccessreviews.authorization.k8s.io", method: "create", what: "What a reader may see", rights: ["create subjectaccessreviews.authorization.k8s.io"], server: true },
];

const stages = ["dev", "test", "integration", "staging", "performance", "preprod", "canary", "prod-ap", "prod-eu", "prod-sa", "prod-us", "prod-gov"];

/** wayOf returns count environments, with a revision that waits in the middle. */
export function wayOf(now, count) {
  const middle = Math.floor(count / 2);
  return stages.slice(0, count).map((name, i) => environment(now, name, i < middle ? "2.4.0" : "2.3.9", "done", "Settled", i === middle ? {
    coming: "2.4.0", gates: [{ kind: "soak", label: "Soak 4 h", state: "passed", since: ago(now, 20) }, { kind: "approval", label: "Your approval", state: "yours", since: ago(now, 20) }],
  } : {}));
}

/** promoted returns environments in which the waiting revision has been promoted. */
export function promoted(environments) {
  return environments.map((env) => { const { coming, ...rest } = env; return coming ? { ...rest, revision: coming, gates: [] } : env; });
}

/** long returns an overview and a pipeline with many environments. */
export function long(now) {
  const line = (name, count) => ({ ref: ref("Pipeline", "long", name), status: status("person", "WaitingForApproval", ago(now, 20)), latest: "2.4.0", moving: true, environments: wayOf(now, count) });
  return { ...overview(now), pipelines: [line("five", 5), line("eight", 8), line("twelve", 12), ...overview(now).pipelines] };
}

export function longPipeline(now) {
  const environments = wayOf(now, 8);
  const mark = (env, i) => ({ environment: env.name, time: ago(now, 9000 - i * 700), tone: "done" });
  return {
    ...pipeline(now), verdict: "2.4.0 waits for your approval for performance.", environments,
    lanes: [{ revision: "2.4.0", ended: "moving", marks: environments.slice(0, 4).map(mark) }, { revision: "2.3.9", ended: "arrived", marks: environments.map(mark) }],
  };
}

/** manyPipelines returns more than a list draws at once: each tenth is on the move, and one of these fails. */
function manyPipelines(now) {
  return Array.from({ length: 260 }, (_, i) => {
    const [moving, failing] = [i % 10 === 0, i === 120];
    const st = failing ? status("failed", "Stalled", ago(now, 30)) : moving ? status("waits", "Soaking", ago(now, 30)) : status("done", "Complete", ago(now, 900));
    const gates = moving ? [{ kind: "soak", label: "soaks", state: "counting", until: at(now, 38) }] : [];
    const environments = [environment(now, "dev", `2.${i}.1`, failing ? "failed" : "done", failing ? "Stalled" : "Settled"), environment(now, "prod", `2.${i}.0`, "done", "Settled", { ...(moving ? { coming: `2.${i}.1` } : {}), gates })];
    return { ref: ref("Pipeline", `team-${String(i % 20).padStart(2, "0")}`, `line-${String(i).padStart(3, "0")}`), status: st, latest: `2.${i}.1`, moving, environments };
  });
}

/** much returns an overview of ten thousand installations and some hundreds of pipelines. */
export function much(now) {
  const base = overview(now);
  const installations = Array.from({ length: 10_000 }, (_, i) => {
    const tone = i % 1000 === 7 ? "failed" : i % 400 === 3 ? "works" : "done";
    return row(now, `tenant-${String(i % 250).padStart(3, "0")}`, `service-${String(Math.floor(i / 250)).padStart(2, "0")}`, status(tone, words[tone], ago(now, i % 5000)), i % 3 ? "Job" : "Continuous", progress(8, tone === "done" ? 8 : 5, tone === "works" ? 3 : 0, tone === "failed" ? 1 : 0), { component: "example.org/service", version: `1.${i % 40}.0` });
  });
  return { ...base, installations, pipelines: manyPipelines(now), verdict: "12 things need you", needs: Array.from({ length: 12 }, (_, i) => ({ ...needs(now)[0], id: `much-${i}`, title: `service-${i} failed in tenant-${i}` })) };
}

/** nasty are strings that try to break the layout or to be executed. */
export const nasty = [
  "x".repeat(300), "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>", "שלום עולם ‮ dlrow olleh مرحبا بالعالم",
  "a-very-long-name-without-any-spaces-that-goes-on-and-on-until-nobody-can-read-it-any-more-and-then-some-more-of-it-to-be-sure", "javascript:document.title='broken'", "\u0000\u0007tabs\tand\nlines\r\n\u{1F469}\u200D\u{1F4BB}",
];

/** hostile replaces user-provided text in a document by nasty strings, and keeps its structure. */
export function hostile(doc) {
  let n = 0;
  const free = new Set(["verdict", "title", "message", "reason", "answer", "quote", "quotedBy", "next", "word", "detail", "label", "waitsFor", "command", "confirm", "explanation", "denied", "revision", "coming", "url", "text", "object", "field", "before", "after", "by", "component", "version", "error", "cluster", "type", "button", "source", "what", "reference", "default", "user", "yaml"]);
  const walk = (value, key, parent) => {
    if (Array.isArray(value)) return value.map((each) => walk(each, key, parent));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, walk(v, k, value)]));
    const isName = key === "name" && parent && !("kind" in parent && "namespace" in parent);
    if (typeof value === "string" && (free.has(key) || isName || ["commands", "others", "soon", "hidden", "groups", "rights"].includes(key))) return nasty[n++ % nasty.length];
    return value;
  };
  const out = walk(doc);
  if (Array.isArray(out.environments)) fixEnvironments(out);
  return out;
}

function fixEnvironments(doc) {
  doc.environments.forEach((env, i) => { env.name = `${nasty[3]}-${i}`; });
  doc.lanes?.forEach((lane) => lane.marks.forEach((mark, i) => { mark.environment = doc.environments[i % doc.environments.length].name; }));
}
