// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/target"
	"espalier.dev/internal/web/cluster"
	"espalier.dev/internal/web/mirror"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/session"
	"espalier.dev/internal/web/view"
)

const (
	// tokenCheck is the interval at which the API server checks a token again.
	tokenCheck = time.Minute
	// forgetReader is how long an inactive reader is kept.
	forgetReader = 30 * time.Minute
)

// reader holds a user's rights and connection, for all sessions with the same token.
type reader struct {
	server *Server
	user   rights.User
	token  string
	client client.WithWatch
	config *rest.Config
	book   *rights.Book
	// key identifies a reader.
	key    string
	checks checks

	mutex    sync.Mutex
	checked  time.Time
	used     time.Time
	clusters *target.Clusters // those that the reader has checked; nil at first
}

// callerOf returns who makes a request, or session.ErrNone.
func (s *Server) callerOf(r *http.Request) (caller, error) {
	found, err := s.keeper.Of(r)
	if err != nil {
		return caller{}, err
	}
	if found, err = s.renewed(r.Context(), found); err != nil {
		return caller{}, err
	}
	reader, err := s.readerOf(found)
	if err != nil {
		return caller{}, err
	}
	return caller{session: found, reader: reader}, s.recheck(r.Context(), found, reader)
}

// readerOf returns the reader of a session.
func (s *Server) readerOf(of *session.Session) (*reader, error) {
	key := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q", of.User, of.Token)))
	now := s.options.Now()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for other, r := range s.readers {
		if now.Sub(r.lastUsed()) > forgetReader {
			delete(s.readers, other)
			r.leave()
		}
	}
	if known, exists := s.readers[key]; exists {
		known.use(now)
		return known, nil
	}
	person, ask, err := s.connect(of)
	if err != nil {
		return nil, err
	}
	r := &reader{
		server: s, user: of.User, token: of.Token, client: person.Client, config: person.Config, key: key,
		book: rights.NewBook(ask, s.options.Now), checked: now, used: now, checks: newChecks(),
	}
	s.readers[key] = r
	return r, nil
}

// connect returns how a session connects to the API server, and how to query its rights.
func (s *Server) connect(of *session.Session) (cluster.Person, rights.Ask, error) {
	if s.options.Mode == Local {
		return s.self, rights.Self(s.own), nil
	}
	ask := rights.Of(s.own, of.User)
	if of.Token == "" {
		person, err := s.clients.As(of.User.Name, of.User.Groups)
		return person, ask, err
	}
	person, err := s.clients.WithToken(of.Token)
	return person, ask, err
}

func (r *reader) use(now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.used = now
}

func (r *reader) lastUsed() time.Time {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.used
}

// dueForCheck reports whether to check a token again now, and marks it as checked.
func (r *reader) dueForCheck(now time.Time) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.token == "" || now.Sub(r.checked) < tokenCheck {
		return false
	}
	r.checked = now
	return true
}

// recheck ends a session whose token is no longer valid. If the API server does not answer, the session continues.
func (s *Server) recheck(ctx context.Context, of *session.Session, r *reader) error {
	r.use(s.options.Now())
	if !r.dueForCheck(s.options.Now()) {
		return nil
	}
	current, err := s.renewed(ctx, of) // Streams live longer than tokens.
	if err != nil {
		return err
	}
	if _, err := s.whoHas(ctx, current.Token); errors.Is(err, errBadToken) {
		s.keeper.Revoke(of)
		return session.ErrNone
	}
	return nil
}

var errBadToken = errors.New("the cluster rejects this token")

//espalier:rights ui
//	create tokenreviews.authentication.k8s.io: whose token it is that somebody logs in with

// whoHas asks the API server for the user of a token.
func (s *Server) whoHas(ctx context.Context, token string) (rights.User, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := s.own.Create(ctx, review); err != nil {
		return rights.User{}, fmt.Errorf("check a token: %w", err)
	}
	if !review.Status.Authenticated {
		return rights.User{}, errBadToken
	}
	info := review.Status.User
	extra := map[string][]string{}
	for name, values := range info.Extra {
		extra[name] = values
	}
	return rights.User{Name: info.Username, UID: info.UID, Groups: info.Groups, Extra: extra}, nil
}

// startRights are those that are queried for every reader; views may query more.
func startRights() []rights.Right {
	all := []rights.Right{patchInstallations, deleteInstallation, patchPipelines, approvePipelines}
	for _, resource := range mirror.Resources() {
		all = append(all, toList(resource))
	}
	return all
}

func toList(r mirror.Resource) rights.Right {
	return rights.Right{Verb: "list", Group: r.Group, Resource: r.Resource}
}

// learn adds a right that a view has queried. Until it is known, it counts as missing, and streams are notified to query it.
func (s *Server) learn(right rights.Right) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if slices.Contains(s.asked, right) {
		return
	}
	s.asked = append(slices.Clip(s.asked), right)
	close(s.learnt)
	s.learnt = make(chan struct{})
}

// moreToAsk returns a channel that is closed when classes must be determined again.
func (s *Server) moreToAsk() (learnt, grown <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.learnt, s.mirror.Grown()
}

// classOf determines what a reader may do in general, and to the object of a page.
func (s *Server) classOf(ctx context.Context, r *reader, page rights.Page) (*rights.Class, error) {
	s.mutex.Lock()
	asked := s.asked
	s.mutex.Unlock()
	namespaces := s.mirror.Namespaces()
	for _, wanted := range s.options.Namespaces {
		if !slices.Contains(namespaces, wanted) {
			namespaces = append(namespaces, wanted)
		}
	}
	return r.book.ClassFor(ctx, asked, namespaces, page)
}

// heldClass is a class that streams use.
type heldClass struct {
	*rights.Class
	streams int

	// all is what its readers may see in all namespaces, at a number of changes. Documents of single readers share it.
	mutex   sync.Mutex
	all     *view.Scene
	changes uint64
}

func (s *Server) hold(class *rights.Class) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	held, exists := s.classes[class.Key]
	if !exists {
		held = &heldClass{Class: class}
		s.classes[class.Key] = held
	}
	held.streams++
}

func (s *Server) letGo(class *rights.Class) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if held := s.classes[class.Key]; held != nil {
		if held.streams--; held.streams == 0 {
			delete(s.classes, class.Key)
		}
	}
}

func (s *Server) heldClass(key string) *heldClass {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.classes[key]
}

// name returns who the API server says the reader is.
func (r *reader) name(ctx context.Context) (string, []string, error) {
	if r.server.options.Mode == Cluster {
		return r.user.Name, r.user.Groups, nil
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := r.client.Create(ctx, review); err != nil {
		return "", nil, err
	}
	return review.Status.UserInfo.Username, review.Status.UserInfo.Groups, nil
}

// open starts the session of a local server. Its code is valid once.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	if s.options.Mode != Local {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	if !s.keeper.TakeCode(r.URL.Query().Get("code")) {
		if _, err := s.keeper.Of(r); err == nil { // This browser was let in before, perhaps with the same code.
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		http.Error(w, "This address has already been used, or is from an earlier run of the command. "+
			"Start the command again; it prints a new one.", http.StatusForbidden)
		return
	}
	s.keeper.Open(w, rights.User{}, "")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// login starts a session with a token of the API server.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if err := s.logIn(w, r); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) logIn(w http.ResponseWriter, r *http.Request) error {
	given, err := body[struct {
		Token string `json:"token"`
	}](r)
	if err != nil {
		return err
	}
	if s.options.Mode != Cluster {
		return &problem{Status: http.StatusConflict, Message: s.howToLogIn()}
	}
	leave, err := s.enterLogin()
	if err != nil {
		return err
	}
	defer leave()
	token := strings.TrimSpace(given.Token)
	if token == "" {
		return invalid("The token is empty. Get one with: kubectl create token NAME")
	}
	user, err := s.whoHas(r.Context(), token)
	if errors.Is(err, errBadToken) {
		return &problem{Status: http.StatusUnauthorized, Message: "The cluster rejects this token, or it has expired. Get a new one."}
	}
	if err != nil {
		return attempt{what: "check the token", right: rights.Right{Verb: "create", Resource: "tokenreviews"}}.refusal(err)
	}
	s.keeper.Open(w, user, token)
	return nil
}

// enterLogin takes one of the slots for logins, until leave is called.
func (s *Server) enterLogin() (leave func(), err error) {
	select {
	case s.logins <- struct{}{}:
		return func() { <-s.logins }, nil
	default:
		return nil, &problem{Status: http.StatusTooManyRequests, Message: "Too many logins at the moment. Retry in a second."}
	}
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if found, err := s.keeper.Of(r); err == nil {
		s.keeper.End(w, found)
	}
	w.WriteHeader(http.StatusNoContent)
}

// MayListEverywhere reports whether the user of a configuration may list installations in all namespaces.
func MayListEverywhere(ctx context.Context, config *rest.Config) (bool, error) {
	clients, err := cluster.NewMaker(config)
	if err != nil {
		return false, err
	}
	own, err := clients.Own()
	if err != nil {
		return false, err
	}
	return rights.Self(own.Client)(ctx, toList(mirror.Resource{Group: lsv1alpha1.GroupName, Resource: "installations"}), rights.Place{})
}
