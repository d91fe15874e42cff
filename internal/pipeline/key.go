// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Identity identifies a promotion. It contains no UID, because a restored pipeline would have another one.
type Identity struct {
	Namespace, Name, Environment, Revision string
	Run                                    int64
	Retries                                int32
}

// Key returns the key of the promotion: 16 hexadecimal digits that depend only on the identity.
func (i Identity) Key() string {
	return digest("promotion", i.Namespace, i.Name, i.Environment, i.Revision, fmt.Sprint(i.Run), fmt.Sprint(i.Retries))[:16]
}

// digest hashes parts so that different lists of parts never produce the same input.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// maxBranchPart keeps branch names within the limits of Git servers and file systems.
const maxBranchPart = 60

// BranchPrefix is the prefix of all names that Branch returns.
const BranchPrefix = "promotion-"

// Branch returns the name of the branch for a promotion. The key at the end makes it unique even if the readable part is not.
func Branch(namespace, name, environment, key string) string {
	parts := []string{refPart(namespace), refPart(name), refPart(environment), key[:min(8, len(key))]}
	return BranchPrefix + strings.Join(parts, "-")
}

// refPart makes text valid in a Git ref: letters, digits, hyphens, and single dots inside.
func refPart(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			out.WriteRune(r)
		} else {
			out.WriteByte('-')
		}
	}
	clean := out.String()
	for strings.Contains(clean, "..") {
		clean = strings.ReplaceAll(clean, "..", ".")
	}
	clean = strings.Trim(clean[:min(maxBranchPart, len(clean))], ".-")
	return strings.TrimSuffix(clean, ".lock")
}

// Annotations for requests and holds. The rest of the name is AnnotationSuffix of the environment.
const (
	RequestAnnotationPrefix = "request.pipelines.espalier.dev/"
	HoldAnnotationPrefix    = "hold.pipelines.espalier.dev/"
	// RequesterAnnotationPrefix starts the name of the annotation beside a request that names the user who makes it.
	RequesterAnnotationPrefix = "requester.pipelines.espalier.dev/"
	// KeepPullRequestsAnnotation, if it is "true", leaves pull requests open when the pipeline is deleted.
	KeepPullRequestsAnnotation = "pipelines.espalier.dev/keep-pull-requests"
	// Finalizer keeps a deleted pipeline until its pull requests are closed.
	Finalizer = "pipelines.espalier.dev/pull-requests"
)

// AnnotationSuffix returns the part of an annotation's name that identifies an environment.
func AnnotationSuffix(environment string) string { return digest("environment", environment)[:8] }

// identify returns the identity of a promotion of this pipeline.
func (o Observed) identify(environment string, p pipelines.PromotionStatus) Identity {
	return Identity{
		Namespace: o.Namespace, Name: o.Name, Environment: environment,
		Revision: p.Revision, Run: p.Run, Retries: p.Retries,
	}
}
