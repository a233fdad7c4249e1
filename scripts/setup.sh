# shellcheck shell=sh
# What a machine needs to build Unsnarl: sourced by ./unsnarl and ./test, which set $root to the
# folder of the project. Missing Debian packages are installed when that is possible without asking
# for a password; otherwise the exact command is printed and the exit status is 2.
: "${root:?must be set before this file is sourced}"

say() {
    printf 'unsnarl: %s\n' "$*" >&2
}

give_up() {
    say "$*"
    exit 2
}

require_everything() {
    require_rust
    require_packages
}

require_rust() {
    if ! command -v cargo >/dev/null 2>&1; then
        cargo_bin=${CARGO_HOME:-${HOME:-}/.cargo}/bin
        [ -x "$cargo_bin/cargo" ] || give_up "cargo is missing: install Rust $(needed_rust) or" \
            "later as https://rustup.rs says, then run this again"
        PATH=$cargo_bin:$PATH
        export PATH
    fi
    present_rust=$(cd "$root" && rustc --version 2>/dev/null | cut -d ' ' -f 2)
    oldest=$(printf '%s\n' "$(needed_rust)" "${present_rust:-0}" | sort -V | head -n 1)
    [ "$oldest" = "$(needed_rust)" ] || give_up "Rust $(needed_rust) or later is needed and this" \
        "is ${present_rust:-no working rustc}: run 'rustup update stable', then run this again"
}

needed_rust() {
    sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$root/Cargo.toml"
}

require_packages() {
    set --
    c_compiler_works || set -- "$@" gcc libc6-dev
    jdk_is_present || set -- "$@" default-jdk-headless
    [ $# -gt 0 ] || return 0
    install_packages "$@"
    c_compiler_works || give_up "the C compiler 'cc' still cannot build a program"
    jdk_is_present || give_up "there is still no JDK: no javac on the PATH, in JAVA_HOME or in /usr/lib/jvm"
}

# Compiles and links, which needs the compiler, the linker, the headers and the start files of libc.
c_compiler_works() {
    command -v cc >/dev/null 2>&1 || return 1
    trial=$(mktemp) || return 1
    works=0
    printf '#include <stdio.h>\nint main(void) { return 0; }\n' |
        cc -x c -o "$trial" - >/dev/null 2>&1 || works=1
    rm -f "$trial"
    return "$works"
}

jdk_is_present() {
    command -v javac >/dev/null 2>&1 && return 0
    [ -n "$(jdks)" ]
}

# The home of every JDK on this machine, each once, one per line.
jdks() {
    for home in ${JAVA_HOME:+"$JAVA_HOME"} /usr/lib/jvm/*; do
        if [ -e "$home/lib/modules" ] && [ -x "$home/bin/javac" ]; then
            readlink -f "$home"
        fi
    done | sort -u
}

install_packages() {
    command -v apt-get >/dev/null 2>&1 || give_up "a C compiler with the headers of libc and a" \
        "JDK (17 or later) are needed, and there is no apt-get to install them with"
    if [ "$(id -u)" -eq 0 ]; then
        as_root=
    elif sudo -n true >/dev/null 2>&1; then
        as_root='sudo -n'
    else
        say "some packages are missing; as root, run"
        printf '    apt-get update && apt-get install -y --no-install-recommends %s\n' "$*" >&2
        give_up "and then this again"
    fi
    say "installing $* with apt-get"
    log=$(mktemp) || give_up "cannot make a temporary file"
    # The first attempt fails fast when the package lists are missing or out of date.
    if ! apt_get install -y --no-install-recommends "$@" >"$log" 2>&1 &&
        ! { apt_get update && apt_get install -y --no-install-recommends "$@"; } >>"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        give_up "apt-get could not install $*"
    fi
    rm -f "$log"
}

apt_get() {
    # shellcheck disable=SC2086 # $as_root is a command with an option, or nothing
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null
}
