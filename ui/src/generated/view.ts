// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Made from internal/web/view/types.go by "go test ./internal/web/typescript -update". Do not change it by hand.

/** A time as JSON has it, such as 2026-01-31T12:00:00Z. */
export type Time = string;

/** Tone is how a state is shown: by a shape, a word and a colour. */
export type Tone =
  | "not-yet"
  | "works"
  | "done"
  | "failed"
  | "going"
  | "going-failed"
  | "waits"
  | "person"
  | "stopped"
  | "unknown";

/** Ref names an object. Kind is Installation, Execution, DeployItem, Pipeline, Target, DataObject, Secret or ConfigMap. */
export interface Ref {
  kind: string;
  namespace: string;
  name: string;
}

/**
 * Status is the state of something. Word is that of the API, such as Progressing or WaitingForApproval. Reference is where an error is
 * explained: the address of the documentation if it is published, or else a path in it; empty if there is no error.
 */
export interface Status {
  tone: Tone;
  word: string;
  since?: Time;
  message?: string;
  reference?: string;
}

/** Progress counts deploy items or targets. */
export interface Progress {
  all: number;
  done: number;
  running: number;
  failed: number;
  waiting: number;
}

/**
 * Action is an action on the object of a page. Command does the same in a terminal. Denied says why the reader may not do it, Unavailable
 * why it makes no sense now.
 */
export interface Action {
  /** ID is reconcile, interrupt, abort, force, delete, approve, reject, promote, retry, hold or release. */
  id: string;
  label: string;
  command: string;
  explanation?: string;
  /** Confirm is the question that the reader must answer first. It names what results. */
  confirm?: string;
  danger?: boolean;
  denied?: string;
  unavailable?: string;
}

/** Overview is the first page. Needs are failures, then decisions, then what is missing; among these, the widest effect comes first. */
export interface Overview {
  now: Time;
  verdict: string;
  needs: Need[];
  soon: string[];
  pipelines: PipelineRow[];
  installations: InstallationRow[];
  /** Hidden names what the reader may not list, each with the missing right. */
  hidden: string[];
}

/** Need is something that waits for a person: a failure, an approval, or something that is missing. */
export interface Need {
  id: string;
  tone: Tone;
  subject: Ref;
  cause: Ref;
  title: string;
  reason: string;
  message: string;
  holdsUp: number;
  since?: Time;
  command: string;
  /** Button is the label of its button: "See why" or "Review changes". */
  button: string;
}

/** InstallationRow is a root installation. */
export interface InstallationRow {
  ref: Ref;
  status: Status;
  progress: Progress;
  /** Flow is Job or Continuous. */
  flow: string;
  component?: string;
  version?: string;
  waitsFor?: string;
}

/**
 * PipelineRow is a pipeline on the overview, with its environments in order. They have no actions and no approval here: these are on the
 * page of the pipeline.
 */
export interface PipelineRow {
  ref: Ref;
  status: Status;
  latest?: string;
  moving: boolean;
  environments: Environment[];
}

/** OverviewChange is the difference to an earlier overview: new and changed rows as a whole, and the names of removed ones. */
export interface OverviewChange {
  now: Time;
  verdict: string;
  needs: Need[];
  soon: string[];
  hidden: string[];
  pipelines: PipelineRow[];
  installations: InstallationRow[];
  gonePipelines: Ref[];
  goneInstallations: Ref[];
}

/** Why is the answer to "why is this waiting?", from the object of the page to the cause. */
export interface Why {
  tone: Tone;
  answer: string;
  quote?: string;
  quotedBy?: string;
  /** Reference is where the documentation explains the cause, as in a Status. */
  reference?: string;
  chain: Link[];
  next?: string;
  commands: string[];
  holdsUp: Ref[];
  others: string[];
}

/** Link is one step of a chain. */
export interface Link {
  ref: Ref;
  status: Status;
}

/** Installation is the page of an installation and of everything below it. */
export interface Installation {
  now: Time;
  ref: Ref;
  exists: boolean;
  parent?: Ref;
  verdict: string;
  status: Status;
  progress: Progress;
  flow: string;
  /** Component, Version and Blueprint are empty if there is none. */
  component?: string;
  version?: string;
  blueprint?: string;
  why?: Why;
  graph: Graph;
  rows: Row[];
  job?: Job;
  /** Past lists the finished jobs, newest first. */
  past: PastJob[];
  actions: Action[];
  events: Event[];
  hidden: string[];
}

/** Row is an object of the tree, in the order of the tree: the table, the waterfall and the drawer have one per object. */
export interface Row {
  id: string;
  ref: Ref;
  depth: number;
  parent?: string;
  /** Title is the name of the object in its parent. */
  title: string;
  status: Status;
  waitsFor?: string;
  /** Type is the type of a deploy item, Target the name of its target. */
  type?: string;
  target?: string;
  /** Outside is true if the blueprint of an installation is outside of the cluster: types and defaults of values must be requested. */
  outside?: boolean;
  spans: Span[];
  waitedFor: string[];
  imports: Value[];
  exports: Value[];
  objects: Deployed[];
}

/** Span is a part of a job: waits, init or works. A span without an end is not finished. */
export interface Span {
  what: string;
  tone: Tone;
  start: Time;
  end?: Time;
}

/** Job is the run that the waterfall shows. */
export interface Job {
  id?: string;
  start?: Time;
  end?: Time;
}

/** PastJob is a finished job. */
export interface PastJob {
  id: string;
  status: Status;
  start?: Time;
  end?: Time;
}

/** Value is an import or an export. Its content is in an object that the page requests on demand, with the rights of the reader. */
export interface Value {
  name: string;
  /** Kind is data, target or targetList; Type is that of the schema, if known. */
  kind: string;
  type?: string;
  /** State is there, default, missing or not-written. */
  state: string;
  /** Source is the object with the value, Giver the row or installation that writes it. */
  source?: Ref;
  giver?: Ref;
  key?: string;
  /** Default is the default of the blueprint, as JSON that may be truncated, of an import that gets no other value. */
  default?: string;
  /** Reference is the name by which others import an export, Takers are some installations that do, and OtherTakers counts the rest. */
  reference?: string;
  takers?: Ref[];
  otherTakers?: number;
  /** Secret is true if the value is shown only on request. */
  secret?: boolean;
}

/** Deployed is an object in a target, as the status of a deploy item records it. */
export interface Deployed {
  apiVersion?: string;
  kind: string;
  namespace?: string;
  name: string;
}

/** Live is what a deploy item has in its target cluster now. Message says why not everything could be read. */
export interface Live {
  objects: LiveObject[];
  message?: string;
}

/** LiveObject is an object in a target cluster as it is now, with the pods below a workload. */
export interface LiveObject {
  apiVersion?: string;
  kind: string;
  namespace?: string;
  name: string;
  status: Status;
  below: LiveObject[];
}

/** LiveYAML is an object in a target cluster as it is now, and as its deploy item defines it, if that is known. Secrets are masked. */
export interface LiveYAML {
  live: string;
  rendered?: string;
  /** Cut is true if one of them is truncated. */
  cut?: boolean;
}

/**
 * Declared is what a blueprint outside of the cluster declares about the imports and exports of an installation. Message says why that is
 * unknown.
 */
export interface Declared {
  imports: NamedType[];
  exports: NamedType[];
  /** Defaults are imports that the installation does not provide and that have a default value. */
  defaults: Value[];
  message?: string;
}

/** NamedType is the type of an import or export in words; it is empty if the blueprint only says that it is data or a target. */
export interface NamedType {
  name: string;
  type?: string;
}

/** Logs are the log lines of deployers about a deploy item, oldest first. Message says where to look if there are none. */
export interface Logs {
  lines: LogLine[];
  message?: string;
}

/** LogLine is a line in the log of a deployer. */
export interface LogLine {
  time?: Time;
  /** Level is info, error or debug. */
  level: string;
  text: string;
}

/**
 * Diff is what the next job would change in the objects that the blueprints of an installation and of those below it create. Message says
 * why that is unknown, or that nothing would change. Notes say what cannot be known before the job, and what is left out.
 */
export interface Diff {
  message?: string;
  notes: string[];
  objects: ObjectDiff[];
}

/** ObjectDiff is an object that a job would create, update or delete. */
export interface ObjectDiff {
  ref: Ref;
  title: string;
  /** Within is the path to the nested installation, and to the deploy item with a chart, that creates the object, such as shop/database. */
  within?: string;
  /** Change is create, update or delete. */
  change: string;
  lines: DiffLine[];
}

/** DiffLine is a line of YAML. Op is + for an added line, - for a removed one, and a space for an unchanged one. */
export interface DiffLine {
  op: string;
  text: string;
}

/** Graph is a drawing. Sizes are in pixels at scale 1; the server computes the layout. */
export interface Graph {
  width: number;
  height: number;
  nodes: Node[];
  edges: Edge[];
}

/** Node is a box of a graph. ID is that of its row; a ghost is a source that does not exist. */
export interface Node {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  detail?: string;
  status: Status;
  ghost?: boolean;
  /** Group is true if it contains other nodes. */
  group?: boolean;
  /** Kind is import, target, installation, template or export in the graph of a blueprint, where a target is an import, and empty elsewhere. */
  kind?: string;
}

/** Edge is a value that flows from one node to another, or a dependency. */
export interface Edge {
  from: string;
  to: string;
  label?: string;
  /** State is there, missing or cut, and empty while the value does not exist yet. */
  state: string;
  /** Path is the d attribute of an SVG path of cubic curves. LabelX and LabelY are the bottom centre of its label. */
  path: string;
  labelX: number;
  labelY: number;
  /** Target is true if it is a target, not a value. */
  target?: boolean;
}

/** Event is an Event about an object. Repeated ones are merged. */
export interface Event {
  time: Time;
  tone: Tone;
  reason: string;
  message: string;
  by?: string;
  about: Ref;
  count: number;
}

/** Pipeline is the page of a pipeline. */
export interface Pipeline {
  now: Time;
  ref: Ref;
  exists: boolean;
  verdict: string;
  status: Status;
  suspended?: boolean;
  environments: Environment[];
  lanes: Lane[];
  actions: Action[];
  events: Event[];
  /** LeadTime is the median time from the first environment to the last, in seconds; 0 if no revision has reached the last one. */
  leadTime: number;
  hidden: string[];
}

/** Environment is a card of the board, with the gates before it. */
export interface Environment {
  name: string;
  status: Status;
  revision?: string;
  since?: Time;
  progress: Progress;
  targets: TargetCell[];
  gates: Gate[];
  /** Coming is the revision that the gates hold, if there is one, and Request its pull request. */
  coming?: string;
  request?: Request;
  approval?: Consent;
  actions: Action[];
}

/** TargetCell is one target of an environment. */
export interface TargetCell {
  cluster?: string;
  namespace: string;
  revision?: string;
  ready: boolean;
  status: Status;
}

/** Gate is a condition that a promotion must meet: approval, soak, window, hold, strategy or health. Reference is like that of a Status. */
export interface Gate {
  kind: string;
  label: string;
  /** not-reached, counting, passed, yours, others, failed or held */
  state: string;
  until?: Time;
  since?: Time;
  detail?: string;
  reference?: string;
}

/** Consent is an approval that a promotion waits for, with its effect. */
export interface Consent {
  revision: string;
  from?: string;
  since?: Time;
  facts: Fact[];
  changes: FieldShift[];
}

/** Fact is a label with its text. */
export interface Fact {
  label: string;
  text: string;
}

/** FieldShift is a field that a promotion writes. */
export interface FieldShift {
  object: string;
  field: string;
  before?: string;
  after: string;
}

/** Lane is a revision on its way through the environments. */
export interface Lane {
  revision: string;
  marks: Mark[];
  /** Ended is the outcome: arrived, moving, superseded, failed or rejected. */
  ended: string;
}

/** Mark is where a revision is or was. */
export interface Mark {
  environment: string;
  time?: Time;
  tone: Tone;
  by?: string;
  reason?: string;
  /** Request is the pull request that promoted it, or should have. */
  request?: Request;
}

/** Request is a pull request as the status of the pipeline records it. */
export interface Request {
  /** URL is empty if a browser cannot open it, or would run it. */
  url?: string;
  number?: number;
  /** State is open, merged or closed, and empty while it is unknown. */
  state?: string;
  /** By is the user who merged or closed it, and Time when. */
  by?: string;
  time?: Time;
  /** Checks are set while it is open, if it has any and they are known. */
  checks?: RequestChecks;
}

/** RequestChecks are the checks of the head commit of a pull request. */
export interface RequestChecks {
  /** State is running, passed or failed. */
  state: string;
  /** URL is empty if the Git server has no page about them, or if a browser cannot open it. */
  url?: string;
  total: number;
  passed: number;
  failed: number;
  running: number;
  /** FailedNames are the names of some failed ones. */
  failedNames: string[];
}

/** Targets is the page of targets and clusters. */
export interface Targets {
  now: Time;
  verdict: string;
  rows: TargetRow[];
  hidden: string[];
}

/** TargetRow is a Target or a GitopsCluster. Check is the result of the last check with the rights of the reader, if there was one. */
export interface TargetRow {
  ref: Ref;
  type: string;
  status: Status;
  runs: Ref[];
  check?: TargetCheck;
}

/** TargetCheck is the result of a check of a cluster. Expires is when the first of its certificates and tokens expires, Expiring which one. */
export interface TargetCheck {
  at: Time;
  reachable: boolean;
  error?: string;
  version?: string;
  expires?: Time;
  expiring?: string;
  milliseconds: number;
}
