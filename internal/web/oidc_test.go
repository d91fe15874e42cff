// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/issuer"
	"espalier.dev/internal/web/oidc"
	"espalier.dev/internal/web/session"
	"espalier.dev/internal/web/view"
)

// providerFixture is an API server that trusts a provider.
type providerFixture struct {
	cluster *testkit.APIServer
	issuer  *issuer.Issuer
	clock   *clock
}

// newProviderFixture returns once the API server accepts the tokens of the provider.
func newProviderFixture(t *testing.T) *providerFixture {
	t.Helper()
	h := &providerFixture{clock: newClock()}
	h.issuer = issuer.New(t, h.clock.now, jo())
	h.cluster = testkit.NewServer(t, testkit.ProjectCRDs(), testkit.Authentication(issuer.Trust(t, h.issuer.URL, h.issuer.CA)))
	set, err := kubernetes.NewForConfig(h.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	for { // It fetches the provider's keys in the background, without any signal when it has them.
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: h.issuer.Token(t)}}
		review, err := set.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Authenticated {
			return h
		}
	}
}

// jo is the user logged in at the provider.
func jo() map[string]any {
	return map[string]any{"sub": "1", "email": "jo@example.com", "email_verified": true, "groups": []string{"growers"}}
}

// place is a server in cluster mode that is reached by HTTPS, with its log.
type place struct {
	*Server
	url    string
	client func() *http.Client // a browser without cookies
	log    *diary
}

// diary is a log with concurrent writes and reads.
type diary struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (d *diary) Write(text []byte) (int, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.text.Write(text)
}

func (d *diary) String() string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.text.String()
}

func optionsFor(of *issuer.Issuer) *oidc.Options {
	return &oidc.Options{Issuer: of.URL, ClientID: issuer.ClientID, ClientSecret: issuer.ClientSecret, CA: of.CA, Name: "Example SSO"}
}

// open serves until the test ends, and then searches the log for secrets.
func (h *providerFixture) open(t *testing.T, of *issuer.Issuer) *place {
	t.Helper()
	return h.openAt(t, anywhere(t), optionsFor(of), of.Tokens)
}

func anywhere(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func (h *providerFixture) openAt(t *testing.T, plain net.Listener, options *oidc.Options, tokens func() []string) *place {
	t.Helper()
	p := &place{log: &diary{}}
	server, err := New(Options{
		Config: h.cluster.Config(), Mode: Cluster, Hosts: []string{"127.0.0.1"}, Now: h.clock.now, OIDC: options,
		Log: logr.FromSlogHandler(slog.NewJSONHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug - 100})),
	})
	if err != nil {
		t.Fatal(err)
	}
	lent := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	t.Cleanup(lent.Close)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- server.Serve(ctx, tls.NewListener(plain, &tls.Config{Certificates: lent.TLS.Certificates, MinVersion: tls.VersionTLS12}))
	}()
	p.Server, p.url = server, "https://"+plain.Addr().String()
	p.client = func() *http.Client { return trusting(t, lent, options.CA) }
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.searchLog(t, append(tokens(), options.ClientSecret))
	})
	return p
}

// searchLog fails if the log contains a secret.
func (p *place) searchLog(t *testing.T, secrets []string) {
	t.Helper()
	text := p.log.String()
	for _, secret := range secrets {
		if strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret)) {
			t.Errorf("the log has the secret %q:\n%s", secret, text)
		}
	}
}

func trusting(t *testing.T, lent *httptest.Server, authority []byte) *http.Client {
	t.Helper()
	pool := lent.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs.Clone()
	pool.AppendCertsFromPEM(authority)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// surfer is a browser that follows redirects one by one. It sends secure cookies by HTTPS only.
type surfer struct {
	t      *testing.T
	at     *place
	client *http.Client
	// seen is what the browser has kept: addresses and cookies.
	seen strings.Builder
}

func (p *place) surfer(t *testing.T) *surfer {
	t.Helper()
	return &surfer{t: t, at: p, client: p.client()}
}

func (b *surfer) get(address string) answered {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.at.url + address
	}
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(request)
}

func (b *surfer) do(request *http.Request) answered {
	b.t.Helper()
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	fmt.Fprintf(&b.seen, "%s\n%s\n%s\n", request.URL, response.Header, text)
	return answered{Response: response, text: string(text)}
}

func (b *surfer) post(path string, content any) answered {
	b.t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		b.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.at.url+path, bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	return b.do(request)
}

// begin starts a login, once the server has discovered the provider, and returns the redirect to it.
func (b *surfer) begin(back string) answered {
	b.t.Helper()
	for {
		if answer := b.get("/auth/oidc/login?return=" + url.QueryEscape(back)); answer.StatusCode != http.StatusServiceUnavailable {
			return answer
		}
	}
}

// callback visits the provider, and returns the address that it redirects to.
func (b *surfer) callback(back string) string {
	b.t.Helper()
	begun := b.begin(back)
	if begun.StatusCode != http.StatusSeeOther {
		b.t.Fatalf("the login begins with %s: %s", begun.Status, begun.text)
	}
	asked := b.get(begun.Header.Get("Location"))
	address := asked.Header.Get("Location")
	if asked.StatusCode != http.StatusSeeOther || !strings.HasPrefix(address, b.at.url+oidc.CallbackPath+"?") {
		b.t.Fatalf("the provider answers %s and leads to %s: %s", asked.Status, address, asked.text)
	}
	return address
}

// login logs in, and returns the last answer.
func (b *surfer) login(back string) answered {
	b.t.Helper()
	return b.get(b.callback(back))
}

// isIn reports whether the browser has a session.
func (b *surfer) isIn() bool {
	b.t.Helper()
	return b.get("/api/v1/me").StatusCode == http.StatusOK
}

// refused checks that a login has failed for a reason, and has opened no session.
func (b *surfer) refused(answer answered, status int, why string) {
	b.t.Helper()
	if answer.StatusCode != status || !strings.Contains(answer.text, why) || !strings.Contains(answer.text, `href="/login"`) {
		b.t.Errorf("the answer is %s, want %d because of %q: %s", answer.Status, status, why, answer.text)
	}
	if b.isIn() {
		b.t.Error("there is a session")
	}
}

func TestOIDC(t *testing.T) {
	h := newProviderFixture(t)
	for name, test := range map[string]func(*testing.T, *providerFixture){
		"login": loginWithProvider, "without rights": loginWithoutRights, "logout": logoutAfterProvider, "states": foreignStates,
		"replays": replays, "lies": providerLies, "refusals of the provider": providerRefuses, "down at the start": providerDown,
		"not trusted": providerNotTrusted, "return": returnPaths, "other hosts": foreignHosts,
		"renewal": renewal, "renewal at once": renewalAtOnce, "renewal fails": renewalFails, "renewal for somebody else": renewalOfAnother,
		"renewal that is not trusted": renewalNotTrusted, "streams": renewalOfStreams,
	} {
		t.Run(name, func(t *testing.T) {
			h.issuer.Lie(issuer.Lies{})
			test(t, h)
		})
	}
}

func loginWithProvider(t *testing.T, h *providerFixture) {
	p := h.open(t, h.issuer)
	b := p.surfer(t)
	asked := b.get("/api/v1/me")
	var told ways
	asked.into(t, &told)
	if asked.StatusCode != http.StatusUnauthorized || !slices.Equal(told.LoginWith, []string{"token", "oidc"}) ||
		told.OIDCName != "Example SSO" {
		t.Errorf("before the login: %s %+v", asked.Status, told)
	}
	begun := b.begin("/installations/a/b?tab=values")
	cookie := begun.Cookies()[0]
	if !strings.HasPrefix(cookie.Name, "__Host-") || !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode ||
		cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge <= 0 || cookie.MaxAge > 600 {
		t.Errorf("the cookie of the login is %v", cookie)
	}
	asks := b.get(begun.Header.Get("Location"))
	ended := b.get(asks.Header.Get("Location"))
	if ended.StatusCode != http.StatusSeeOther || ended.Header.Get("Location") != "/installations/a/b?tab=values" {
		t.Fatalf("the login ends with %s at %s: %s", ended.Status, ended.Header.Get("Location"), ended.text)
	}
	for _, cookie := range ended.Cookies() {
		if !strings.HasPrefix(cookie.Name, "__Host-") || !cookie.HttpOnly || !cookie.Secure ||
			cookie.MaxAge > 0 && cookie.SameSite != http.SameSiteStrictMode {
			t.Errorf("a cookie is %v", cookie)
		}
	}
	var who me
	b.get("/api/v1/me").into(t, &who)
	if who.User != "oidc:jo@example.com" || !slices.Contains(who.Groups, "oidc:growers") || len(who.LoginWith) != 2 || who.OIDCName != "Example SSO" {
		t.Errorf("%+v", who)
	}
	for _, token := range h.issuer.Tokens() {
		if !strings.HasPrefix(token, "code-") && strings.Contains(b.seen.String(), token) {
			t.Errorf("the browser has seen the token %s", token)
		}
	}
}

// firstOverview returns the document of the first page.
func (b *surfer) firstOverview() view.Overview {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.at.url+"/api/v1/stream/overview", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	stream := &reading{t: b.t, lines: bufio.NewReader(response.Body), body: response.Body}
	var document view.Overview
	if err := json.Unmarshal([]byte(stream.until(func(e event) bool { return e.name == "snapshot" }).data), &document); err != nil {
		b.t.Fatal(err)
	}
	return document
}

// A user whom the provider knows, but who has no rights in the cluster, sees what is missing. With rights, users see and do things under
// their own names.
func loginWithoutRights(t *testing.T, h *providerFixture) {
	namespace := h.cluster.Namespace(t)
	shop := testkit.Installation(namespace, "shop").Build()
	testkit.Create(t, h.cluster, shop)
	p := h.open(t, h.issuer)
	b := p.surfer(t)
	b.login("/")
	if empty := b.firstOverview(); len(empty.Installations) != 0 || !strings.Contains(fmt.Sprint(empty.Hidden), "installations") {
		t.Errorf("without rights: %+v", empty)
	}
	wanted := map[string]any{"action": "reconcile", "ref": view.Ref{Kind: "Installation", Namespace: namespace, Name: "shop"}}
	if answer := b.post("/api/v1/actions", wanted); answer.StatusCode != http.StatusForbidden || !strings.Contains(answer.text, "kubectl auth can-i") {
		t.Errorf("without rights: %s %s", answer.Status, answer.text)
	}
	allow(t, h.cluster, namespace, "oidc:growers")
	h.clock.advance(time.Minute) // Known rights are cached for a while.
	if full := b.firstOverview(); len(full.Installations) != 1 {
		t.Errorf("with rights: %+v", full)
	}
	for b.post("/api/v1/actions", wanted).StatusCode == http.StatusForbidden { // The API server learns of roles with a delay.
	}
	if err := h.cluster.Client().Get(t.Context(), client.ObjectKeyFromObject(shop), shop); err != nil || len(shop.Annotations) == 0 {
		t.Errorf("the wish has not arrived: %v %v", shop.Annotations, err)
	}
}

// allow grants a group all rights to installations of a namespace.
func allow(t *testing.T, cluster *testkit.APIServer, namespace, group string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "growers"}
	testkit.Create(t, cluster,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule("*", "installations")}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "growers"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: group}},
		})
}

func logoutAfterProvider(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	b.login("/")
	if !b.isIn() {
		t.Fatal("nobody is logged in")
	}
	if answer := b.post("/api/v1/logout", struct{}{}); answer.StatusCode != http.StatusNoContent || b.isIn() {
		t.Errorf("after the logout: %s", answer.Status)
	}
}

// A login is valid only in the browser that started it, and only for ten minutes.
func foreignStates(t *testing.T, h *providerFixture) {
	p := h.open(t, h.issuer)
	const why = "did not start this login"
	b := p.surfer(t)
	address := b.callback("/")
	other := p.surfer(t)
	other.refused(other.get(address), http.StatusForbidden, why)
	other.begin("/")
	other.refused(other.get(address), http.StatusForbidden, why)
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", "x", parsed.Query().Get("state") + "x", parsed.Query().Get("state")[1:]} {
		query := parsed.Query()
		query.Set("state", state)
		b.refused(b.get(oidc.CallbackPath+"?"+query.Encode()), http.StatusForbidden, why)
	}
	forged := p.surfer(t)
	forged.begin("/")
	home := parsed.JoinPath("/")
	for _, cookie := range forged.client.Jar.Cookies(home) {
		body, signature, _ := strings.Cut(cookie.Value, ".")
		forged.client.Jar.SetCookies(home, []*http.Cookie{{Name: cookie.Name, Value: body[1:] + "." + signature, Path: "/", Secure: true}})
	}
	forged.refused(forged.get(address), http.StatusForbidden, why)
	h.clock.advance(10 * time.Minute)
	b.refused(b.get(address), http.StatusForbidden, why)
}

func replays(t *testing.T, h *providerFixture) {
	p := h.open(t, h.issuer)
	b := p.surfer(t)
	address := b.callback("/")
	home, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	thief := p.surfer(t)
	thief.client.Jar.SetCookies(home, cookiesFor(b.client.Jar.Cookies(home)))
	if b.get(address); !b.isIn() {
		t.Fatal("nobody is logged in")
	}
	// The attacker has the address and the cookie, but the login has ended.
	thief.refused(thief.get(address), http.StatusForbidden, "has already finished it")
	// The attacker has the code, in a different login, for which the provider did not issue it; besides, it is already used.
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	own, err := url.Parse(thief.callback("/"))
	if err != nil {
		t.Fatal(err)
	}
	query := own.Query()
	query.Set("code", parsed.Query().Get("code"))
	thief.refused(thief.get(oidc.CallbackPath+"?"+query.Encode()), http.StatusForbidden, "invalid_grant")
	// The same with an unused code: it needs the verifier of its own login.
	fresh, err := url.Parse(p.surfer(t).callback("/"))
	if err != nil {
		t.Fatal(err)
	}
	if own, err = url.Parse(thief.callback("/")); err != nil {
		t.Fatal(err)
	}
	query = own.Query()
	query.Set("code", fresh.Query().Get("code"))
	thief.refused(thief.get(oidc.CallbackPath+"?"+query.Encode()), http.StatusForbidden, "invalid_grant")
}

func cookiesFor(sent []*http.Cookie) []*http.Cookie {
	var kept []*http.Cookie
	for _, cookie := range sent {
		kept = append(kept, &http.Cookie{Name: cookie.Name, Value: cookie.Value, Path: "/", Secure: true})
	}
	return kept
}

func providerLies(t *testing.T, h *providerFixture) {
	claim := func(name string, value any) issuer.Lies {
		return issuer.Lies{Claims: func(claims map[string]any) { claims[name] = value }}
	}
	for name, c := range map[string]struct {
		lies issuer.Lies
		why  string
	}{
		"nonce":    {claim("nonce", "another"), "nonce"},
		"no nonce": {issuer.Lies{Claims: func(claims map[string]any) { delete(claims, "nonce") }}, "nonce"},
		"audience": {claim("aud", "another"), "audience"},
		"party": {issuer.Lies{Claims: func(c map[string]any) {
			maps.Copy(c, map[string]any{"aud": []string{issuer.ClientID, "x"}, "azp": "x"})
		}}, "another client"},
		"issuer":    {claim("iss", "https://another.example"), "different provider"},
		"expired":   {claim("exp", h.clock.now().Add(-time.Hour).Unix()), "expired"},
		"signature": {issuer.Lies{Token: func(token string) string { return token[:len(token)-8] + "AAAAAAAA" }}, "signature"},
		"nothing":   {issuer.Lies{Token: func(string) string { return "" }}, "no ID token"},
		"nonsense":  {issuer.Lies{Token: func(string) string { return "nonsense" }}, "is invalid"},
		"unsigned":  {issuer.Lies{Token: unsigned}, "is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			b := h.open(t, h.issuer).surfer(t)
			h.issuer.Lie(c.lies)
			b.refused(b.login("/"), http.StatusForbidden, c.why)
		})
	}
}

// unsigned declares that a token needs no signature.
func unsigned(token string) string {
	return "eyJhbGciOiJub25lIn0." + strings.Split(token, ".")[1] + "."
}

func providerRefuses(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	for denial, why := range map[string]string{"access_denied": "(access_denied)", "<b>Call 555</b>": "rejected the login."} {
		h.issuer.Lie(issuer.Lies{Denies: denial})
		answer := b.login("/")
		b.refused(answer, http.StatusForbidden, why)
		if strings.Contains(answer.text, "555") {
			t.Errorf("the page shows what somebody has written into an address: %s", answer.text)
		}
	}
	h.issuer.Lie(issuer.Lies{})
	address := b.callback("/")
	h.issuer.Lie(issuer.Lies{Answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "on fire", http.StatusInternalServerError) }})
	b.refused(b.get(address), http.StatusBadGateway, "does not answer correctly")
	if log := b.at.log.String(); !strings.Contains(log, "status 500") || strings.Contains(log, "on fire") {
		t.Errorf("the log says %s", log)
	}
}

// While a provider is down, everything else works; the provider is used as soon as it is up.
func providerDown(t *testing.T, h *providerFixture) {
	late := issuer.New(t, h.clock.now, jo())
	late.Down()
	b := h.open(t, late).surfer(t)
	for !strings.Contains(b.at.log.String(), "cannot be used yet") { // Then it has tried.
		b.refused(b.get("/auth/oidc/login?return=/"), http.StatusServiceUnavailable, "does not answer")
	}
	if answer := b.get("/api/v1/me"); !strings.Contains(answer.text, "identity provider does not answer") {
		t.Errorf("the login page says %s", answer.text)
	}
	namespace := h.cluster.Namespace(t)
	if answer := b.post("/api/v1/login", map[string]string{"token": tokenFor(t, h.cluster, namespace)}); answer.StatusCode != http.StatusNoContent {
		t.Errorf("a login with a token: %s %s", answer.Status, answer.text)
	}
	late.Up(t)
	if begun := b.begin("/"); begun.StatusCode != http.StatusSeeOther || !strings.HasPrefix(begun.Header.Get("Location"), late.URL) {
		t.Errorf("the provider is up: %s %s", begun.Status, begun.Header.Get("Location"))
	}
	stranger := b.at.surfer(t)
	if answer := stranger.get("/api/v1/me"); strings.Contains(answer.text, "does not answer") {
		t.Errorf("the login page says %s", answer.text)
	}
}

// A valid token that the API server does not accept opens no session; the message says what is missing.
func providerNotTrusted(t *testing.T, h *providerFixture) {
	other := issuer.New(t, h.clock.now, jo())
	b := h.open(t, other).surfer(t)
	answer := b.login("/")
	b.refused(answer, http.StatusForbidden, "--authentication-config")
	for _, part := range []string{"AuthenticationConfiguration", "--oidc-issuer-url=" + other.URL, "--oidc-client-id=" + issuer.ClientID} {
		if !strings.Contains(answer.text, part) {
			t.Errorf("the message has no %s: %s", part, answer.text)
		}
	}
}

// Whatever a login link says, the login ends at one of our own pages.
func returnPaths(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	for given, want := range map[string]string{
		"": "/", "/pipelines/a/b": "/pipelines/a/b", "https://evil.example": "/", "//evil.example": "/", `/\evil.example`: "/",
		"/\t/evil.example": "/", "javascript:alert(1)": "/", "/api/v1/logout": "/",
	} {
		if answer := b.login(given); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != want {
			t.Errorf("%q leads to %s %s", given, answer.Status, answer.Header.Get("Location"))
		}
	}
}

func foreignHosts(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	b.begin("/")
	for _, path := range []string{"/auth/oidc/login", oidc.CallbackPath} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.at.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "evil.example"
		if answer := b.do(request); answer.StatusCode != http.StatusForbidden || answer.Header.Get("Location") != "" {
			t.Errorf("%s under another name: %s %s", path, answer.Status, answer.Header.Get("Location"))
		}
	}
}

// Before the token expires, the next one replaces it, with the current claims about its owner.
func renewal(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	b.login("/")
	before := h.issuer.Renewed()
	defer h.issuer.Change("groups", []string{"growers"})
	for i := range 3 {
		group := fmt.Sprintf("season-%d", i)
		h.issuer.Change("groups", []string{group})
		h.clock.advance(50 * time.Minute)
		if !b.isIn() || h.issuer.Renewed() != before+i {
			t.Fatalf("%d renewals, want %d", h.issuer.Renewed()-before, i)
		}
		h.clock.advance(8 * time.Minute)
		var who me
		b.get("/api/v1/me").into(t, &who)
		if !slices.Contains(who.Groups, "oidc:"+group) || h.issuer.Renewed() != before+i+1 {
			t.Errorf("%d renewals, and the reader is %+v", h.issuer.Renewed()-before, who)
		}
	}
}

// The provider accepts each refresh token once, so concurrent requests share one renewal.
func renewalAtOnce(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	b.login("/")
	before := h.issuer.Renewed()
	h.clock.advance(58 * time.Minute)
	var group sync.WaitGroup
	statuses := make([]int, 12)
	for i := range statuses {
		group.Go(func() {
			response, err := b.client.Get(b.at.url + "/api/v1/me")
			if err == nil {
				statuses[i] = response.StatusCode
				response.Body.Close()
			}
		})
	}
	group.Wait()
	if h.issuer.Renewed() != before+1 || slices.ContainsFunc(statuses, func(status int) bool { return status != http.StatusOK }) {
		t.Errorf("%d renewals, answers %v", h.issuer.Renewed()-before, statuses)
	}
}

// A provider that is unreachable or denies a renewal ends no session.
func renewalFails(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	b.login("/")
	before := h.issuer.Renewed()
	h.clock.advance(58 * time.Minute)
	h.issuer.Down()
	if !b.isIn() || h.issuer.Renewed() != before || !strings.Contains(b.at.log.String(), "did not renew the token") {
		t.Error("the provider is away")
	}
	h.issuer.Up(t)
	if !b.isIn() || h.issuer.Renewed() != before {
		t.Error("the provider is asked again at once")
	}
	h.clock.advance(renewAgain)
	if !b.isIn() || h.issuer.Renewed() != before+1 {
		t.Errorf("the provider is back: %d renewals", h.issuer.Renewed()-before)
	}
	h.issuer.Lie(issuer.Lies{Forgets: true})
	h.clock.advance(58 * time.Minute)
	for range 2 {
		if !b.isIn() || h.issuer.Renewed() != before+2 {
			t.Errorf("the provider has forgotten us: %d renewals", h.issuer.Renewed()-before)
		}
		h.clock.advance(renewAgain)
	}
}

// A next token for another user is rejected.
func renewalOfAnother(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	b.login("/")
	h.issuer.Lie(issuer.Lies{Claims: func(claims map[string]any) { claims["sub"], claims["email"] = "2", "eve@example.com" }})
	h.clock.advance(58 * time.Minute)
	var who me
	b.get("/api/v1/me").into(t, &who)
	if who.User != "oidc:jo@example.com" || !strings.Contains(b.at.log.String(), "belongs to another user") {
		t.Errorf("%+v\n%s", who, b.at.log)
	}
}

// A next token that the API server does not accept ends the session.
func renewalNotTrusted(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	b.login("/")
	h.issuer.Lie(issuer.Lies{Claims: func(claims map[string]any) { delete(claims, "email") }})
	h.clock.advance(58 * time.Minute)
	if b.isIn() {
		t.Error("the session goes on")
	}
}

// A stream that was opened with the first token continues with the next one.
func renewalOfStreams(t *testing.T, h *providerFixture) {
	b := h.open(t, h.issuer).surfer(t)
	b.login("/")
	home, err := url.Parse(b.at.url)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodGet, b.at.url+"/api/v1/stream/overview", nil)
	for _, cookie := range b.client.Jar.Cookies(home) {
		request.AddCookie(cookie)
	}
	by, err := b.at.callerOf(request)
	if err != nil {
		t.Fatal(err)
	}
	h.clock.advance(58 * time.Minute)
	if err := b.at.recheck(t.Context(), by.session, by.reader); err != nil {
		t.Error(err)
	}
	if now, err := b.at.keeper.Current(by.session); err != nil || now.Token == by.session.Token {
		t.Errorf("the token is the same as before: %v", err)
	}
	b.at.keeper.Revoke(by.session)
	h.clock.advance(tokenCheck)
	if err := b.at.recheck(t.Context(), by.session, by.reader); err != session.ErrNone {
		t.Errorf("after the end of the session: %v", err)
	}
}

func TestAProviderIsForClusters(t *testing.T) {
	options := Options{Config: testkit.Server(t).Config(), Mode: Local, OIDC: &oidc.Options{Issuer: "https://login.example", ClientID: "ui"}}
	if _, err := New(options); err == nil || !strings.Contains(err.Error(), "one reader") {
		t.Errorf("a local server with a provider: %v", err)
	}
	options.Mode, options.OIDC.Issuer = Cluster, "http://login.example"
	if _, err := New(options); err == nil || !strings.Contains(err.Error(), "--oidc-issuer") {
		t.Errorf("a provider that is no good: %v", err)
	}
}
