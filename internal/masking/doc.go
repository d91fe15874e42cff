// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package masking keeps secrets out of what people read: status, events, logs, the output of commands.
//
// It does so in two layers, because neither is enough alone.
//
// By form: an API server quotes the value that it refuses, and so do decoders and parsers. [Words] puts such an error into
// words of ours, which keep the field, the sort of the problem and the advice, and drop the value, whatever it is. This
// needs no knowledge of secrets, so it also covers values that a template has changed beyond recognition, and short ones.
//
// By value: [Values] are the secrets that an object has to do with: what its imports of Secrets and Targets contain. Wherever
// they appear in a text, as they are or in one of the usual disguises, the mask takes their place. This covers what we
// quote ourselves: names of objects, of kinds, of dependencies.
//
// [Values.Error] does both to an error and leaves its kind and its causes as they are. The loop calls it for every error
// of every controller, before anything is made of the error.
package masking
