// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package masking keeps secrets out of what people read: status, events, logs, the output of commands.
//
// It does so in two layers, because neither is enough alone.
//
// By form: an API server quotes the value that it rejects, and so do decoders and parsers. [Words] rewrites such an error; it keeps the
// field, the kind of problem and the advice, and drops the value, whatever it is. This needs no knowledge of secrets, so it also covers
// values that a template has changed beyond recognition, and short ones. It also masks the users and passwords in URLs.
//
// By value: [Values] are the secrets related to an object: the content of its imported Secrets and Targets. Wherever they appear in a text,
// verbatim or in one of the usual disguises, they are replaced with the mask. This covers what we quote ourselves: names of objects, of
// kinds, of dependencies.
//
// [Values.Error] does both to an error and preserves its kind and its causes. The loop calls it for every error of every controller, before
// anything else uses the error.
package masking
