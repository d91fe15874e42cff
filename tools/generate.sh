#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates all generated files: deep copies next to the API types, the CRDs in config/crd, the roles in config/rbac and
# the page that lists their rights, the schemas for editors, and the pages in docs/reference. Running it twice gives the same bytes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
controller_gen=$(go -C "$root/tools" tool -n controller-gen)

# The CRD or deep copy of a removed type must not stay behind.
rm -f "$root"/config/crd/*.yaml
find "$root/api" -name zz_generated.deepcopy.go -delete

cd "$root/api"
"$controller_gen" \
	object:headerFile=../tools/boilerplate.go.txt \
	crd:headerFile=../tools/boilerplate.yaml.txt \
	paths=./... \
	output:crd:artifacts:config=../config/crd

# Roles come after the CRDs, which determine the API groups of the project's kinds.
rm -f "$root"/config/rbac/*.yaml
cd "$root"
go test -count=1 -run TestTheFilesAreUpToDate ./internal/rights -update

# Schemas of the kinds are generated from the CRDs, those of blueprints from the types; pages of docs/reference from the code.
go test -count=1 -run UpToDate ./internal/reference -update
go test -count=1 -run TestTheReferenceOfFlags ./cmd/espalier-controller -update
cd "$root/cmd/espalier"
go test -count=1 -run TestTheReferenceOfCommands . -update
