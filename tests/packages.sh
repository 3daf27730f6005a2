# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced: install Debian packages that are missing, by name.

# install_packages NAME…: through apt, once; needs root or sudo only where something is missing.
install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local sudo=""
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  echo "installing: ${missing[*]}"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

BUILD_PACKAGES=(gcc g++ cmake ninja-build pkg-config libjson-c-dev libyaml-dev libzstd-dev libssl-dev libdeflate-dev
  libsnappy-dev libsqlite3-dev)
TEST_PACKAGES=(libcmocka-dev sqlite3 clang libclang-rt-14-dev valgrind mandoc python3 python3-venv libavro-dev libbson-dev)
