// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"espalier.dev/internal/template/keys"
)

// callBcrypt hashes a password.
func callBcrypt(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	password, err := c.text(0)
	if err != nil {
		return nil, err
	}
	wanted := int64(keys.DefaultBcrypt)
	if len(c.args) == 2 {
		if wanted, err = c.integer(1); err != nil {
			return nil, err
		}
	}
	cost, err := keys.BcryptCost(wanted)
	if err != nil {
		return nil, problem("function bcrypt: %s", err)
	}
	if err := c.env.run.meter.Step(keys.CostOfBcrypt(cost)); err != nil {
		return nil, err
	}
	return c.made(keys.Bcrypt(c.env.run.entropy, password, cost))
}

// made returns a generated text, or the reason why there is none. The errors of the package keys contain nothing of their
// input.
func (c *invocation) made(text string, err error) (value, error) {
	if err != nil {
		return nil, problem("function %s: %s", c.name, err)
	}
	return text, c.build(int64(len(text)))
}

// twoTexts returns the arguments of a function with two strings.
func (c *invocation) twoTexts() (first, second string, err error) {
	if err := c.takes(2, 2); err != nil {
		return "", "", err
	}
	if first, err = c.text(0); err != nil {
		return "", "", err
	}
	second, err = c.text(1)
	return first, second, err
}

// callBcryptCheck reports whether a hash matches a password. It takes as long as creating the hash, which is bounded.
func callBcryptCheck(c *invocation) (value, error) {
	password, hash, err := c.twoTexts()
	if err != nil {
		return nil, err
	}
	cost, ok := keys.CostInBcrypt(hash)
	if !ok {
		return false, nil
	}
	if cost > keys.LargestBcrypt {
		return nil, problem("function bcrypt_check: %s", keys.ErrCost)
	}
	if err := c.env.run.meter.Step(keys.CostOfBcrypt(cost)); err != nil {
		return nil, err
	}
	return keys.IsBcrypt(hash, password), nil
}

// callMD5Crypt hashes a password with Apache's method.
func callMD5Crypt(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	password, err := c.text(0)
	if err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Read(keys.CostOfMD5Crypt(password, "")); err != nil {
		return nil, err
	}
	return c.made(keys.MD5Crypt(c.env.run.entropy, password))
}

func callMD5CryptCheck(c *invocation) (value, error) {
	password, hash, err := c.twoTexts()
	if err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Read(keys.CostOfMD5Crypt(password, hash)); err != nil {
		return nil, err
	}
	same, err := keys.IsMD5Crypt(hash, password)
	if err != nil {
		return nil, problem("function md5crypt_check: %s", err)
	}
	return same, nil
}

const (
	// methodOfEncryption is the only method of the language.
	methodOfEncryption = "3DES"
	// cipherBytesPerStep is the number of bytes encrypted per step.
	cipherBytesPerStep = 8
)

// callEncrypt encrypts the YAML form of a value.
func callEncrypt(c *invocation) (value, error) {
	key, err := c.encryptionKey()
	if err != nil {
		return nil, err
	}
	plain, err := c.plain(0)
	if err != nil {
		return nil, err
	}
	text, err := asBlock(plain)
	if err != nil {
		return nil, c.explain(err)
	}
	if err := c.env.run.meter.Step(int64(len(text)) / cipherBytesPerStep); err != nil {
		return nil, err
	}
	return c.made(keys.EncryptSpiff(c.env.run.entropy, key, text))
}

// callDecrypt decrypts a value. The value is data, like everything that a template reads.
func callDecrypt(c *invocation) (value, error) {
	key, err := c.encryptionKey()
	if err != nil {
		return nil, err
	}
	encrypted, err := c.text(0)
	if err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Step(int64(len(encrypted)) / cipherBytesPerStep); err != nil {
		return nil, err
	}
	text, err := keys.DecryptSpiff(key, encrypted)
	if err != nil {
		return nil, problem("function decrypt: %s", err)
	}
	plain, err := c.env.run.meter.DecodeYAML(text)
	if err != nil {
		return nil, problem("function decrypt: the decrypted text is not valid YAML")
	}
	return c.taken(fromPlain(plain))
}

// encryptionKey returns the key among the arguments. The original falls back to an environment variable.
func (c *invocation) encryptionKey() (string, error) {
	if err := c.takes(1, 3); err != nil {
		return "", err
	}
	if len(c.args) == 3 && c.args[2] != methodOfEncryption {
		return "", problem("function %s: the method must be %s", c.name, methodOfEncryption)
	}
	if len(c.args) == 1 || len(c.args) == 2 && c.args[1] == methodOfEncryption {
		return "", problem("function %s: the key must be argument 2, because a blueprint must not depend on the environment", c.name)
	}
	key, err := c.text(1)
	if err == nil && key == "" {
		return "", problem("function %s: the key must not be empty", c.name)
	}
	return key, err
}
