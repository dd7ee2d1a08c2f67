#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The heist program as its users see it: exit status, standard output and
# standard error.  usage: cli_test.sh PATH-OF-HEIST
#
# Each test is a function whose name is the sentence it proves.
set -u
export LC_ALL=C
unset COLUMNS NO_COLOR COLORTERM HEIST_WORKERS

case ${1:?usage: cli_test.sh PATH-OF-HEIST} in
/*) heist=$1 ;;
*) heist=$PWD/$1 ;;
esac
house=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# Runs heist; leaves its output in out and err, its exit status in $status.
run()
{
    ran="heist $*"
    "$heist" "$@" >out 2>err
    status=$?
}

fail()
{
    echo "not ok  $test: $ran: $1" >&2
    echo "--- exit status $status, standard output:" >&2
    cat out >&2
    echo "--- standard error:" >&2
    cat err >&2
    exit 1
}

check_status()
{
    [ "$status" -eq "$1" ] || fail "exit status $status, wanted $1"
}

check_has() # FILE PATTERN
{
    grep -q -e "$2" "$1" || fail "$1 has no line like '$2'"
}

check_empty()
{
    [ ! -s "$1" ] || fail "$1 is not empty"
}

check_no_escapes()
{
    ! grep -q "$(printf '\033')" "$1" || fail "$1 has escape codes"
}

# Whether a terminal can be simulated here.
has_script()
{
    command -v script >/dev/null && \
        script -qec true /dev/null </dev/null >/dev/null 2>&1
}

# Runs heist on a simulated terminal; standard error is in out as well.
run_on_terminal()
{
    ran="heist $* (on a terminal)"
    : >err
    script -qec "'$heist' $*" /dev/null >out </dev/null
    status=$?
}

help_is_everywhere()
{
    for command in "" demo doctor; do
        for option in --help -h; do
            run $command $option
            check_status 0
            check_has out '^usage: heist'
            check_empty err
        done
    done
    for word in '' help version; do
        run help $word
        check_status 0
        check_has out '^usage: heist demo|'
        check_empty err
    done
}

help_on_a_command_is_what_the_command_tells()
{
    for command in demo doctor; do
        run $command --help
        mv out told
        run help $command
        check_status 0
        check_empty err
        cmp -s out told || fail "not what heist $command --help tells"
    done
}

version_is_three_numbers()
{
    for word in --version version; do
        run $word
        check_status 0
        check_has out '^heist [0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*$'
    done
}

misuse()
{
    run "$@"
    check_status 2
    check_empty out
    check_has err 'usage: heist'
    [ "$(wc -l <err)" -eq 1 ] || fail "more than one line"
}

misuse_gives_one_usage_line_and_exit_status_2()
{
    misuse
    misuse ''
    misuse dmeo
    misuse --colour
    misuse --version now
    misuse --help demo
    misuse help dmeo
    misuse help --help
    misuse help demo doctor
    misuse version now
    misuse "$(printf 'two\nlines')"
    misuse demo --colour
    misuse demo -x
    misuse demo fib
    misuse demo --help=no
    misuse demo --workers
    misuse demo --workers ''
    misuse demo --workers 0
    misuse demo --workers -1
    misuse demo --workers +2
    misuse demo --workers ' 2'
    misuse demo --workers 2x
    misuse demo --workers two
    misuse demo --workers 4097
    misuse demo --workers 99999999999999999999
    misuse demo --only
    misuse demo --only ''
    misuse demo --only fib,
    misuse demo --only ,fib
    misuse demo --only fi
    misuse demo --only fib,fibs
    misuse demo --size
    misuse demo --size medium
    misuse demo --out
    misuse demo --out ''
    misuse demo --out -
    misuse doctor --colour
    misuse doctor now
    misuse doctor --help me
}

the_message_names_the_wrong_word()
{
    misuse demo --size small --colour=red
    check_has err "'--colour=red'"
    misuse demo --workers 2x
    check_has err "'2x'"
    misuse demo --size small --only
    check_has err "'--only'"
    misuse help dmeo
    check_has err "unknown command 'dmeo'"
    misuse help demo now
    check_has err "nothing follows demo, but 'now' does"
    misuse demo --out -
    check_has err "the name of a file, not '-'"
    for command in demo doctor; do
        misuse $command now
        check_has err "unknown argument 'now'"
    done
}

a_wrong_job_is_told_which_there_are()
{
    for jobs in '' fib, fibs; do
        misuse demo --only "$jobs"
        check_has err "some of fib,nqueens,uts,mandelbrot,sort, not '$jobs'"
    done
}

the_demo_takes_as_many_workers_as_the_library()
{
    run demo --workers 4096 --help
    check_status 0
}

the_small_demo_runs_every_job_in_every_way()
{
    run demo --size small --workers 2
    check_status 0
    check_empty err
    for job in fib queens UTS Mandelbrot sort; do
        for way in serial '1 worker' '2 workers'; do
            check_has out "$job.*, $way: "
        done
        check_has out "$job.*[0-9]x  *[0-9]"  # table
        check_has out "$job.* [0-9][0-9]*%\$" # utilisation
    done
    check_has out '^All results were checked'
}

the_picture_is_a_png_and_replaces_what_was_there()
{
    head -c 100000 /dev/zero >old.png
    run demo --size small --only mandelbrot --workers 1 --out old.png
    check_status 0
    head -c 4 old.png | grep -q PNG || fail "no PNG signature"
    [ "$(wc -c <old.png)" -lt 100000 ] || fail "the old file was not cut"
    tail -c 8 old.png | grep -q IEND || fail "the PNG does not end"
}

only_the_jobs_asked_for_run()
{
    mkdir -p only && cd only || exit 1
    run demo --size small --only sort,fib --workers 2
    check_status 0
    check_has out '^fib'
    check_has out '^sort'
    ! grep -q -i -e queens -e UTS -e Mandelbrot out || fail "another job ran"
    [ ! -e mandelbrot.png ] || fail "a picture was written"
    cd ..
}

more_workers_than_bars_still_fit()
{
    ran="COLUMNS=60 heist demo --workers 9"
    COLUMNS=60 "$heist" demo --size small --only fib --workers 9 >out 2>err
    status=$?
    check_status 0
    check_has out '9 workers, then the calling thread'
    check_has out '^fib [0-9]*  *[0-9]\{10\}$'
}

# fits COLUMNS OPTION...: no line of the demo is wider, no word is cut.
fits()
{
    columns=$1
    shift
    ran="COLUMNS=$columns heist demo $*"
    COLUMNS=$columns "$heist" demo --size small "$@" >out 2>err
    status=$?
    check_status 0
    ! grep -q ".\{$((columns + 1))\}" out || fail "a line is too wide"
    check_has out '^job .* speed-up'
    check_has out '^busy '
    tr '\n' ' ' <out >flat
    check_has flat 'All results were checked. Times are the best of 3 runs;'
    if grep -q '^job .* steals' out; then
        check_has flat '; steals and busy time (over wall time) are those of all'
    else
        check_has flat '; busy time (over wall time) is that of all'
    fi
}

narrow_terminals_get_tables_that_fit()
{
    for columns in 40 48 49 57 58 71 72 80; do
        fits $columns --workers 2
    done
    for workers in 1 4 9 16 17; do
        fits 40 --workers $workers --only fib,mandelbrot
    done
    fits 40 --workers 1000 --only fib
}

many_workers_get_a_summary()
{
    fits 80 --workers 64 --only fib,sort
    check_has out '^busy  *least  mean  most caller$'
    check_has out '^fib .*\( *[0-9]*%\)\{4\}$'
    [ "$(sed -n '/^busy/,/^$/p' out | wc -l)" -eq 4 ] || fail "too many lines"
}

one_worker_is_the_calling_thread()
{
    fits 80 --workers 1 --only fib
    check_has flat 'all 3 runs on the calling thread\.'
    fits 80 --workers 2 --only fib
    check_has flat 'on 2 workers, one of which is the calling thread\.'
}

an_unwritable_picture_is_reported_before_any_work()
{
    for path in nowhere/a.png .; do
        run demo --size small --out "$path"
        check_status 1
        check_empty out
        check_has err "cannot write $path: [A-Z].*; --out FILE takes another name"
        [ "$(wc -l <err)" -eq 1 ] || fail "more than one line"
    done
}

# Root writes everywhere, but not over a folder, and not into one that is gone.
without_a_place_for_the_picture_the_demo_goes_on()
{
    mkdir -p taken/mandelbrot.png gone
    for place in taken gone; do
        ran="heist demo, where the picture cannot be written ($place)"
        (cd $place && { [ $place = taken ] || rmdir ../gone; } && exec "$heist" \
            demo --size small --only fib,mandelbrot --workers 2) >out 2>err
        status=$?
        check_status 0
        check_has err '^heist: without the picture: cannot write mandelbrot.png'
        check_has err '; --out FILE takes another name$'
        [ "$(wc -l <err)" -eq 1 ] || fail "more than one line"
        check_has out '^Mandelbrot.*[0-9]x'
        ! grep -q 'picture is in' out || fail "a picture was promised"
    done
    run demo --size small --only fib --workers 1
    check_empty err # where no picture was asked for
}

a_full_disk_is_reported_and_the_table_still_shown()
{
    [ -c /dev/full ] || return 0
    run demo --size small --only mandelbrot --out /dev/full
    check_status 1
    check_has err 'cannot write /dev/full: No space left on device'
    check_has out '^Mandelbrot.*[0-9]x'

    ran="heist --help >/dev/full"
    "$heist" --help >/dev/full 2>err
    status=$?
    : >out
    check_status 1
    check_has err 'cannot write the output'
}

a_pipe_gets_plain_ascii_lines()
{
    ran="TERM=xterm COLORTERM=truecolor heist demo | cat"
    { TERM=xterm COLORTERM=truecolor LC_ALL=C.UTF-8 \
        "$heist" demo --size small 2>err; echo $? >status; } | cat >out
    status=$(cat status)
    check_status 0
    check_no_escapes out
    ! tr -d '\n -~' <out | grep -q . || fail "more than printable ASCII"
}

a_terminal_gets_a_live_bar_and_colours()
{
    has_script || return 0
    export TERM=xterm LC_ALL=C.UTF-8
    run_on_terminal demo --size small
    check_status 0
    check_has out "$(printf '\r\033\\[K')"
    check_has out "$(printf '\033\\[38;5;[0-9]*m\033\\[48;5;[0-9]*m▀')"
}

a_terminal_whose_locale_is_c_gets_ascii()
{
    has_script || return 0
    export TERM=xterm LC_ALL=C
    run_on_terminal demo --size small --only fib,mandelbrot
    check_status 0
    check_has out "$(printf '\r\033\\[K')"
    ! tr -d '\n\r\033 -~' <out | grep -q . || fail "more than ASCII"
}

no_color_means_no_colours()
{
    has_script || return 0
    export TERM=xterm NO_COLOR=1
    run_on_terminal demo --size small
    check_status 0
    check_has out "$(printf '\r\033\\[K')"
    ! grep -q "$(printf '\033\\[[0-9;]*m')" out || fail "out has colours"
}

a_dumb_terminal_gets_no_escapes()
{
    has_script || return 0
    export TERM=dumb
    run_on_terminal demo --size small --only fib,mandelbrot
    check_status 0
    check_no_escapes out
}

the_doctor_tells_the_limits_and_exits_with_0()
{
    run doctor
    check_status 0
    check_empty err
    for word in 'cpus online' 'affinity mask' 'cgroup quota' \
        'default workers' futex membarrier io_uring 'guard pages' kernel \
        'page size' 'huge pages' overcommit 'address space' threads; do
        check_has out "^  $word  *[0-9A-Za-z\"]"
    done
}

# Runs the doctor in control groups that are made up: files of ours hide what
# /proc/self says, in a mount namespace that ends with it.
doctor_in_groups()
{
    ran="heist doctor, in made up control groups"
    mkdir -p groups/app
    echo "0::/app" >membership
    echo "30 21 0:26 / $dir/groups rw - cgroup2 cgroup2 rw" >mounts
    unshare -rm sh -c 'mount --bind membership /proc/$$/cgroup &&
        mount --bind mounts /proc/$$/mountinfo && exec "$0" doctor' \
        "$heist" >out 2>err
    status=$?
}

can_make_groups_up()
{
    unshare -rm sh -c 'mount --bind /dev/null /proc/$$/cgroup' 2>/dev/null
}

the_doctor_shows_the_quota_as_it_is()
{
    can_make_groups_up || return 0
    for quota in 50000:0.5 150000:1.5; do
        rm -rf groups
        mkdir -p groups/app
        echo "${quota%:*} 100000" >groups/app/cpu.max
        doctor_in_groups
        check_status 0
        check_has out "^  cgroup quota  *${quota#*:} CPUs (.*/app/cpu.max)"
    done
    echo "50000 100000" >groups/cpu.max
    doctor_in_groups
    check_has out "^  cgroup quota  *0.5 CPUs (.*/groups/cpu.max)"
    check_has out '^  default workers  *1, by the cgroup quota of 0.5 CPUs'
    check_has out 'even one worker is throttled'
}

# Shells do not agree on the letter.
at_most_threads()
{
    ulimit -u "$1" 2>/dev/null || ulimit -p "$1" 2>/dev/null
}

the_doctor_sees_how_many_threads_there_may_be()
{
    can_make_groups_up || return 0
    rm -rf groups
    mkdir -p groups/app
    echo 4000 >groups/app/pids.max
    doctor_in_groups
    check_status 0
    check_has out '^  threads  *4000 (.*/app/pids.max)'
    ! grep -q 'raise pids.max' out || fail "4000 are enough"
    echo 20 >groups/pids.max
    doctor_in_groups
    check_has out '^  threads  *20 (.*/groups/pids.max)'
    check_has out 'raise pids.max'
}

the_limit_of_a_user_binds_users_but_not_root()
{
    at_most_threads 30000 || return 0
    run doctor
    check_status 0
    if [ "$(id -u)" != 0 ]; then
        check_has out '^  threads  *[0-9]'
        return
    fi
    grep -q '^ *0  *0 ' /proc/self/uid_map || return 0 # of a namespace only
    ! grep -q RLIMIT_NPROC out || fail "it does not bind root"
    nobody="setpriv --reuid=65534 --clear-groups"
    $nobody "$heist" --version >/dev/null 2>&1 || return 0
    ran="$nobody heist doctor"
    $nobody "$heist" doctor >out 2>err
    check_has out '^  threads  *30000 (RLIMIT_NPROC)'
}

the_doctor_does_not_claim_that_io_uring_is_used()
{
    run doctor
    check_has out '^  io_uring .*; heist does not use it yet$'
}

the_doctor_sees_a_smaller_mask()
{
    command -v taskset >/dev/null || return 0
    ran="taskset -c 0 heist doctor"
    taskset -c 0 true 2>/dev/null || return 0 # not ours to use
    taskset -c 0 "$heist" doctor >out 2>err
    status=$?
    check_status 0
    check_has out '^  affinity mask  *1 (0)$'
    check_has out '^  default workers  *1, by'
}

the_environment_chooses_the_workers()
{
    export HEIST_WORKERS=3
    run doctor
    check_status 0
    check_has out '^  default workers  *3, by HEIST_WORKERS; [0-9]* by'
    run demo --size small --only fib
    check_status 0
    check_has out '3 workers'
    for wrong in abc 99999 3x -1 0; do
        export HEIST_WORKERS=$wrong
        run doctor
        check_status 0
        check_has out '^  HEIST_WORKERS  *ignored'
        check_has out '^  default workers  *[0-9]*, by the'
        run demo --size small --only fib
        check_status 0
        check_has err '^heist: HEIST_WORKERS is ignored: not a number from 1 to 4096$'
        [ "$(wc -l <err)" -eq 1 ] || fail "more than one line"
        run demo --size small --only fib --workers 1
        check_empty err # it would not have counted
    done
    for unset in '' 2; do
        export HEIST_WORKERS=$unset
        run demo --size small --only fib
        check_empty err
    done
}

# The jobs before the picture take a second; the file is asked for before them.
a_demo_that_is_stopped_leaves_no_empty_picture()
{
    ran="heist demo, killed"
    mkfifo lines
    "$heist" demo --out new.png >lines 2>err &
    pid=$!
    read -r _ <lines # the first job is done, the picture is not
    kill "$pid"
    wait "$pid"
    status=$?
    : >out
    check_status 143
    [ ! -e new.png ] || [ -s new.png ] || fail "new.png is empty"
}

# Runs a script of the house as `run` runs heist.
run_script()
{
    ran="$*"
    script=$1
    shift
    "$house/$script" "$@" >out 2>err
    status=$?
}

# Seen before anything is built.  `make test` needs no Python; what is written in
# it is asked only where there is one.
the_scripts_tell_their_usage()
{
    python=
    command -v python3 >/dev/null && python="tools/proof-table bench/run"
    for name in scripts/build scripts/check scripts/install scripts/setup \
        scripts/test-all $python; do
        for option in --help -h; do
            run_script $name $option
            check_status 0
            check_has out "$name"
            check_empty err
        done
        run_script $name --no-such-option
        check_status 2
        check_empty out
        check_has err .
    done
    run_script scripts/build
    check_status 2
    run_script scripts/build build/x --target
    check_status 2
    run_script scripts/check now
    check_status 2
    run_script scripts/install --remove now
    check_status 2
}

for test in \
    the_scripts_tell_their_usage \
    help_is_everywhere \
    help_on_a_command_is_what_the_command_tells \
    version_is_three_numbers \
    misuse_gives_one_usage_line_and_exit_status_2 \
    the_message_names_the_wrong_word \
    a_wrong_job_is_told_which_there_are \
    the_demo_takes_as_many_workers_as_the_library \
    the_small_demo_runs_every_job_in_every_way \
    the_picture_is_a_png_and_replaces_what_was_there \
    only_the_jobs_asked_for_run \
    more_workers_than_bars_still_fit \
    narrow_terminals_get_tables_that_fit \
    many_workers_get_a_summary \
    one_worker_is_the_calling_thread \
    an_unwritable_picture_is_reported_before_any_work \
    without_a_place_for_the_picture_the_demo_goes_on \
    a_full_disk_is_reported_and_the_table_still_shown \
    a_pipe_gets_plain_ascii_lines \
    a_terminal_gets_a_live_bar_and_colours \
    a_terminal_whose_locale_is_c_gets_ascii \
    no_color_means_no_colours \
    a_dumb_terminal_gets_no_escapes \
    the_doctor_tells_the_limits_and_exits_with_0 \
    the_doctor_shows_the_quota_as_it_is \
    the_doctor_sees_how_many_threads_there_may_be \
    the_limit_of_a_user_binds_users_but_not_root \
    the_doctor_does_not_claim_that_io_uring_is_used \
    the_doctor_sees_a_smaller_mask \
    the_environment_chooses_the_workers \
    a_demo_that_is_stopped_leaves_no_empty_picture; do
    ($test) || exit 1
    echo "ok  $test"
done
