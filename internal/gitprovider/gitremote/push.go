// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"espalier.dev/internal/gitprovider"
)

// Update is the desired change of a branch.
type Update struct {
	Branch string
	// From is the required commit of the branch; empty if the branch must not exist.
	From string
	// To is the new commit; nil removes the branch.
	To *Built
}

// Push performs an update. If the branch is not at From, the error has the class Conflict, and nothing has changed. An update that has
// already happened succeeds.
func (r *Remote) Push(ctx context.Context, update Update) error {
	operation := "push branch " + update.Branch
	if update.To == nil {
		operation = "remove branch " + update.Branch
	}
	known, err := r.advertised(ctx, receivePack, operation)
	if err != nil {
		return err
	}
	from, to := plumbing.NewHash(update.From), plumbing.ZeroHash
	if update.To != nil {
		to = plumbing.NewHash(update.To.Commit)
	}
	switch tip := known.tip(update.Branch); {
	case tip == to:
		return nil
	case tip != from:
		return r.failed(operation, &gitprovider.Error{
			Class:   gitprovider.Conflict,
			Message: "the branch is at commit " + display(tip) + ", which is new",
		})
	}
	request, err := pushRequest(known, update, packp.Command{Name: plumbing.NewBranchReferenceName(update.Branch), Old: from, New: to})
	if err != nil {
		return r.failed(operation, err)
	}
	return r.failed(operation, r.send(ctx, operation, request))
}

func display(tip plumbing.Hash) string {
	if tip.IsZero() {
		return "(none)"
	}
	return tip.String()
}

func pushRequest(known *advertisement, update Update, command packp.Command) (*packp.ReferenceUpdateRequest, error) {
	request := packp.NewReferenceUpdateRequest()
	request.Commands = []*packp.Command{&command}
	if !known.can.Supports(capability.ReportStatus) {
		return nil, &gitprovider.Error{Class: gitprovider.Malformed, Message: "the server does not report the result of a push"}
	}
	for _, wanted := range []capability.Capability{capability.ReportStatus, capability.Sideband64k, capability.DeleteRefs} {
		if known.can.Supports(wanted) {
			_ = request.Capabilities.Set(wanted)
		}
	}
	if update.To == nil {
		return request, nil
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, update.To.objects, false).Encode(update.To.hashes, 0); err != nil {
		return nil, err
	}
	request.Packfile = io.NopCloser(&pack)
	return request, nil
}

func (r *Remote) send(ctx context.Context, operation string, request *packp.ReferenceUpdateRequest) error {
	var body bytes.Buffer
	if err := request.Encode(&body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.settings.Limits.Time)
	defer cancel()
	answer, err := r.do(ctx, exchange{
		operation: operation, method: http.MethodPost, path: "/" + receivePack, service: receivePack,
		accept: "application/x-" + receivePack + "-result", body: &body,
	})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	content := io.Reader(bound(answer.Body, mebibyte, "the answer to a push"))
	var remarks bytes.Buffer
	if request.Capabilities.Supports(capability.Sideband64k) {
		demuxer := sideband.NewDemuxer(sideband.Sideband64k, content)
		demuxer.Progress = &remarks
		content = demuxer
	}
	report := packp.NewReportStatus()
	if err := report.Decode(content); err != nil {
		return malformed(err)
	}
	return rejection(report, remarks.String())
}

// policy matches rejections of a push for reasons other than a race. All other rejections come from a concurrent push; servers have many
// messages for that.
var policy = regexp.MustCompile(
	`(?i)protected|declin|denied|deny|not allowed|permission|prohibit|forbid|unauthori[sz]ed|not permitted|policy|hook|quota|too large|GH\d{3}|TF40\d{4}`,
)

func rejection(report *packp.ReportStatus, remarks string) error {
	err := report.Error()
	if err == nil {
		return nil
	}
	class := gitprovider.Conflict
	if policy.MatchString(err.Error()) {
		class = gitprovider.Refused
	}
	message := fmt.Sprintf("the server rejects it (%s)", strings.TrimPrefix(err.Error(), "command error on "))
	if remark := firstWords(remarks); remark != "" {
		message += ": " + remark
	}
	return &gitprovider.Error{Class: class, Message: message}
}

const maxRemark = 300

// firstWords shortens a server's remarks for a status.
func firstWords(remarks string) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(remarks, "?")), " ")
	if runes := []rune(text); len(runes) > maxRemark {
		return string(runes[:maxRemark]) + "..."
	}
	return text
}
