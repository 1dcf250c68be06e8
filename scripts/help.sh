# shellcheck shell=bash
# The help of the launcher, and of the commands that are its own. Of each the first paragraph is how it is called and
# the second one sentence on what it does: `rdma-raw man` makes manual pages of them.

usage() {
  cat <<'USAGE'
usage: ./rdma-raw COMMAND [OPTIONS]

  demo      echo Ethernet frames between two event loops, counted and verified
            demo dns, demo http: a server of examples/ and a stock client
            demo sockets: connections and datagrams, between two userspace hosts
  test      build everything and run every test; test --fast: those that need neither root nor much time;
            test CLASS: one class of tests; test --containers: servers in podman's containers;
            test --kernels: Debian's kernels and drivers of cards, in emulated machines;
            test --conformance: h2spec, Autobahn's suite and foreign clients against servers on this transport;
            test --contract: generated programs on NIO, epoll and this transport, compared;
            test --frameworks: the tests that frameworks publish of themselves, on this transport;
            test --netty-versions: versions of Netty 4.2; test --matrix: the oldest and the newest JDK and Netty;
            test --programs: programs from Maven Central with the agent and without;
            test --engine: jobs of Spark, BookKeeper or Spring Cloud Gateway on nodes in namespaces, by the agent;
            test --faults SEEDS: faults of an emulated card at random moments, while frames pass;
            test --rdma-core 56: the emulated card's tests on another generation of rdma-core;
            test --aarch64: what a processor decides, on an emulated one of 64-bit Arm;
            test --jcstress: what threads share without locks in Java, and faults planted there;
            test --host-model: generated hosts in namespaces, beside the kernel's own sockets on a twin
            test --litmus: the same in C, under the memory models of C11 and Arm;
            test --recipes: the patches that follow the recipes of CONTRIBUTING.md
  devinfo   what each device can do, for every provider
  pktgen    send or receive frames from a template or a pcap file
  example   run a server, such as http or dns, on any of Netty's transports
  java      run a Java program with the transport on its class path: java FrameEcho.java soft:loop
  bench     measure, with the C program on the same device beside it
  bw        how many frames and bytes pass in a second, as perftest's raw_ethernet_bw
  lat       how long a frame takes, as raw_ethernet_lat; burst-lat: under load
  flow-rate how many flow rules are made in a second, as raw_ethernet_fs_rate
  top       what the loops of a running process do, live; asyncwatch: a device's events
  ss        the TCP servers and connections of a running process, as ss -tinp has the kernel's
  dump      the frames of a running process, as tcpdump has the kernel's: a line for each, or a pcapng file
  report    run every bench there is, and write one page of it all
  profile   where the time of the event loops goes, on one path or in a running process
  doctor    what a device lacks here, and how to put it right
  sim       run the TCP core through seeds of a simulated network
  hardware-check  everything that only a card can show, and a report; see docs/guide/cards.md
  build     build only; install: into Maven's local repository, for programs of your own
  release   release --dry-run: makes and checks what a release would publish
  site      the documents and the Javadoc as static pages, with a search
  help      this text; `./rdma-raw COMMAND --help` for the options of a command
  completion  prints completion for bash and zsh: . <(./rdma-raw completion)
  man       the manual page of a command: man pktgen tx; man --out DIR: all of them
  --version  the versions of what runs, for reports of bugs

Exit codes: 0 well; 1 what was asked for failed, what is checked is not so, or something that is needed is missing, such
as the device; 2 wrong arguments; 130 interrupted.

Environment:
  JAVA_HOME            the JDK to use, 25 or newer (else it is looked for)
  RDMA_RAW_JAVA_OPTS   more options for the JVM of the tools
  RDMA_RAW_NO_INSTALL  set to 1: never install packages, only name them
USAGE
}

asks_for_help() {
  [ "$1" = --help ] || [ "$1" = -h ]
}

host_model_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --host-model [--seeds N] [--from S] [--faults] [--without ID] [--keep-going]

Makes hosts in network namespaces from seeds: links, addresses, routes, rules, neighbours. Changes them while a server
runs, and compares the answers to packets with those of the kernel's sockets on a twin host. A difference is repeated,
shrunk and printed as a list of ip commands and packets. Needs root.

  --seeds N       how many seeds (100)
  --from S        the first seed (1)
  --faults        known faults count as differences too
  --without ID    the accepted difference ID counts, for instance to see an example of it
  --keep-going    all seeds, also after a difference

Ends with 1 if something differs that docs/design/addresses-and-rules.md does not list, with 2 for wrong arguments.
USAGE
}

test_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test [--fast | --containers | --kernels | --conformance | --contract [--seeds N | --mutants] |
                       --host-model | --frameworks | --netty-versions | --matrix | --engine | --programs |
                       --faults SEEDS | --rdma-core 44|56|65 | --aarch64 [machine] | --jcstress | --litmus | --musl |
                       --broker-attack [SECONDS] | --recipes | CLASS[,CLASS...]]
                       [OPTIONS of Maven, such as -pl testsuite -am]

Runs tests: all of them, those that are quick, or one class.

  without an argument   builds everything and runs every test: tens of minutes
  --fast                the tests that need neither root nor much time: less than three minutes on two cores
  --containers          servers in podman's containers, asked by stock clients
  --kernels             Debian's kernels, old and new, and drivers of network cards, in emulated machines; root
  --conformance         h2spec, Autobahn's suite and foreign clients against servers on this transport
  --contract            generated Netty programs on NIO, epoll and this transport (soft:loop): 1000 seeds, or --seeds N,
                        beginning with --from N; --show prints all observations of the seeds, and
                        --until KINDS ends the run at a difference of that kind. --mutants [NAME...] plants each
                        fault of ci/lab/contract-mutants into a copy, which 2000 seeds have to find
  --frameworks          the tests that frameworks publish of themselves, on this transport
  --netty-versions      the transport as it was built with other versions of Netty 4.2
  --matrix              the transport as it was built on the oldest and the newest JDK and Netty; root
  --programs            programs from Maven Central with the agent and without: the same exit and output
  --engine              jobs of Spark, BookKeeper or Spring Cloud Gateway on nodes in namespaces, with the agent; root
  --faults SEEDS        faults of an emulated card at random moments, while frames pass: 1000 seeds, or as many as given
  --rdma-core 56        the emulated card's tests on another generation of rdma-core; root
  --aarch64             what a processor decides, on an emulated one of 64-bit Arm; machine: there with its kernel, alone
  --jcstress            what threads share without locks in Java, by OpenJDK's jcstress, and faults planted there
  --host-model          generated hosts in namespaces, beside the kernel's own sockets on a twin; root
  --litmus              memory orders in C and across the kernel, by herd7 under the models of C11 and Arm
  --musl                softverbs, the broker and their tests in C against musl, Alpine's C library
  --broker-attack N     hostile clients of the broker for N seconds, or 600, with bounds; root, and no other work
  --recipes             the patches of ci/recipes, which follow the recipes of CONTRIBUTING.md: built and tested in a copy
  CLASS                 classes of Java tests, such as CongestionTest, or CLASS#method

The last line says how many passed and failed. Ends with 1 if one failed.
USAGE
}

build_usage() {
  cat <<'USAGE'
usage: ./rdma-raw build

Builds what is not built or has changed, without tests, and the tools as one jar for other hosts.

The jar is tools/target/all/netty-transport-rdma-raw-tools-VERSION-all.jar (docs/reference/tools.md). Maven's messages
go to target/rdma-raw.log, and to the terminal if the build fails. Ends with 2 then.
USAGE
}

install_usage() {
  cat <<'USAGE'
usage: ./rdma-raw install

Puts the transport, softverbs, the modules for frameworks and the agent into Maven's local repository.

Your project then depends on io.rdmaraw:netty-transport-rdma-raw (docs/guide/quickstart.md). Maven's messages go to
target/rdma-raw-install.log, and to the terminal if the build fails. Ends with 2 then.
USAGE
}

java_usage() {
  cat <<'USAGE'
usage: ./rdma-raw java [OPTIONS of java] CLASS|FILE.java|-jar FILE.jar [ARGUMENTS]

Runs a Java program with the transport, softverbs and Netty on its class path.

  ./rdma-raw java FrameEcho.java soft:loop     a source file is compiled in memory

RDMA_RAW_JAVA_OPTS adds options of java. Ends as the program does.
USAGE
}

# Refuses arguments of a command that takes none.
takes_no_arguments() {
  local command="$1"
  shift
  [ $# -eq 0 ] || die "$command takes no argument, such as '$1': ./rdma-raw $command --help"
}
