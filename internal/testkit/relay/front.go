// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Front is an API server under another address. It accepts any credential: the transport that forwards the requests determines the user.
// Requests for which that fails get no answer.
type Front struct {
	server *httptest.Server
}

// NewFront starts a front of the API server at a URL. It runs until it is closed.
func NewFront(behind string, transport http.RoundTripper) (*Front, error) {
	address, err := url.Parse(behind)
	if err != nil {
		return nil, fmt.Errorf("stand before an API server: %w", err)
	}
	f := &Front{server: httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(address)
			request.Out.Header.Del("Authorization")
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})}
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.server.StartTLS()
	return f, nil
}

// Close closes the front when all requests have been answered.
func (f *Front) Close() { f.server.Close() }

// Kubeconfig returns a kubeconfig for the front.
func (f *Front) Kubeconfig() (string, error) {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"front": {Server: f.server.URL, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"front": {Token: "anybody"}},
		Contexts:       map[string]*clientcmdapi.Context{"front": {Cluster: "front", AuthInfo: "front"}},
		CurrentContext: "front",
	})
	if err != nil {
		return "", fmt.Errorf("write a kubeconfig: %w", err)
	}
	return string(content), nil
}
