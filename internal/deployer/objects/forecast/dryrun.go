// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DryRun makes an API server check every request and store nothing. It wraps the transport of a client.
func DryRun(next http.RoundTripper) http.RoundTripper { return dryRun{next} }

type dryRun struct{ next http.RoundTripper }

// parameter is the name of the option in queries and bodies.
const parameter = "dryRun"

// RoundTrip implements http.RoundTripper. It does not send a request that may store anything.
func (d dryRun) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return d.next.RoundTrip(request)
	}
	dry, err := rehearsed(request)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	return d.next.RoundTrip(dry)
}

// rehearsed returns a request with the option. For deletions, API servers ignore the query if there is a body.
func rehearsed(request *http.Request) (*http.Request, error) {
	dry := request.Clone(request.Context())
	query := dry.URL.Query()
	query.Set(parameter, metav1.DryRunAll)
	dry.URL.RawQuery = query.Encode()
	switch request.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return dry, nil
	case http.MethodDelete:
		return dry, rehearseDeletion(dry)
	}
	return nil, fmt.Errorf("a dry run sends no %s", request.Method)
}

func rehearseDeletion(request *http.Request) error {
	if request.Body == nil || request.Body == http.NoBody {
		return nil
	}
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return fmt.Errorf("read the options of a deletion: %w", err)
	}
	if err := request.Body.Close(); err != nil {
		return fmt.Errorf("read the options of a deletion: %w", err)
	}
	options := map[string]any{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &options); err != nil {
			return errors.New("a dry run cannot read the options of a deletion, so it does not send it")
		}
	}
	options[parameter] = []string{metav1.DryRunAll}
	if text, err = json.Marshal(options); err != nil {
		return fmt.Errorf("write the options of a deletion: %w", err)
	}
	request.Body = io.NopCloser(bytes.NewReader(text))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	request.ContentLength = int64(len(text))
	request.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return nil
}
