// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
)

// ErrDecrypt is the error of a text that cannot be decrypted. It contains neither the reason nor the text.
var ErrDecrypt = errors.New("the text cannot be decrypted with this key")

// spiffSecret is the key with which spiff signs before it encrypts. It is not secret: the signature only shows whether the
// right key was used.
const spiffSecret = "spiff is a cool tool"

// EncryptSpiff encrypts a text like spiff's method 3DES: with a signature appended, in hexadecimal digits.
func EncryptSpiff(entropy io.Reader, key, text string) (string, error) {
	block, err := spiffCipher(key)
	if err != nil {
		return "", err
	}
	content := append([]byte(text), spiffSignature([]byte(text))...)
	padding := block.BlockSize() - 1 - len(content)%block.BlockSize()
	content = append(content, bytes.Repeat([]byte{byte(padding)}, padding+1)...)
	encrypted, err := encrypted(entropy, block, content)
	return hex.EncodeToString(encrypted), err
}

// DecryptSpiff is the inverse of EncryptSpiff.
func DecryptSpiff(key, text string) (string, error) {
	block, err := spiffCipher(key)
	if err != nil {
		return "", err
	}
	content, err := hex.DecodeString(text)
	size := block.BlockSize()
	if err != nil || len(content) < 2*size || len(content)%size != 0 {
		return "", ErrDecrypt
	}
	start, content := content[:size], content[size:]
	cipher.NewCBCDecrypter(block, start).CryptBlocks(content, content)
	signed := len(content) - 1 - int(content[len(content)-1])
	length := signed - sha256.Size
	if length <= 0 || !hmac.Equal(content[length:signed], spiffSignature(content[:length])) {
		return "", ErrDecrypt
	}
	return string(content[:length]), nil
}

// spiffCipher returns the cipher of a key. Like spiff, it uses the first 16 bytes of the key followed by the MD5 sum of
// nothing: otherwise, texts encrypted elsewhere cannot be decrypted.
func spiffCipher(key string) (cipher.Block, error) {
	nothing := md5.Sum(nil)
	long := append([]byte(key), nothing[:]...)
	block, err := des.NewTripleDESCipher(append(bytes.Clone(long[:16]), long[:8]...))
	if err != nil {
		return nil, ErrDecrypt
	}
	return block, nil
}

func spiffSignature(text []byte) []byte {
	mac := hmac.New(sha256.New, []byte(spiffSecret))
	mac.Write(text)
	return mac.Sum(nil)
}

// EncryptAES encrypts a text like sprig: in CBC mode, with the initialisation vector prepended, in base64. An empty text
// stays empty.
func EncryptAES(entropy io.Reader, password, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	key := make([]byte, 32)
	copy(key, password)
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	padding := aes.BlockSize - len(text)%aes.BlockSize
	encrypted, err := encrypted(entropy, block, append([]byte(text), bytes.Repeat([]byte{byte(padding)}, padding)...))
	return base64.StdEncoding.EncodeToString(encrypted), err
}

// encrypted returns an initialisation vector from entropy, followed by the encrypted blocks.
func encrypted(entropy io.Reader, block cipher.Block, content []byte) ([]byte, error) {
	size := block.BlockSize()
	all := make([]byte, size+len(content))
	if _, err := io.ReadFull(entropy, all[:size]); err != nil {
		return nil, err
	}
	cipher.NewCBCEncrypter(block, all[:size]).CryptBlocks(all[size:], content)
	return all, nil
}
