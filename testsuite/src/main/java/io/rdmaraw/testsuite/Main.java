package io.rdmaraw.testsuite;

import io.rdmaraw.testsuite.goodput.GoodputMain;
import io.rdmaraw.testsuite.net.LinkEmulatorMain;
import io.rdmaraw.testsuite.script.ScriptMain;
import io.rdmaraw.testsuite.sim.SimMain;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.stream.Stream;

/** What {@code ./rdma-raw sim} runs: seeds of the simulation, or what its first argument names. */
public final class Main {
    private static final String USAGE = """
            usage: ./rdma-raw sim [OPTIONS]            seeds of the simulation, in virtual time
                   ./rdma-raw sim goodput [OPTIONS]    bulk transfers over impaired paths, beside the kernel's TCP
                   ./rdma-raw sim scripts [OPTIONS]    exact exchanges, played against the core and against Linux
                   ./rdma-raw sim link [OPTIONS]       an impaired path between two interfaces, until Ctrl-C

            sim:      --seeds N     how many seeds (1000)
                      --from S      the first seed (1)
                      --off MASK    faults to switch off, as the report of a failure names them
                      --threads T   runs at a time (one per processor); the outcome of a seed does not depend on it
                      --pcap DIR    where captures of failures go (target/sim)
                      --rule NAME   shrink and report only the first failure of this rule
                      --json        print one JSON object as the last line
            goodput:  --seconds N   length of each transfer (8)
                      --runs N      transfers per case, each with another seed (3)
                      --case TEXT   only cases whose name contains TEXT
                      --sim         only virtual time: no root needed, and every run gives the same figures
                      --json        print one JSON object as the last line
            scripts:  --case TEXT   only scripts whose name contains TEXT
                      --core        only against the core: the kernel wants root
                      --json        print one JSON object as the last line
            link:     --left IF, --right IF     the interfaces, without addresses and with their offloads off
                      --both TEXT, --to-right TEXT, --to-left TEXT
                                    what a direction does to frames, such as rate=1G,buffer=256K,delay=10ms,
                                    jitter=1ms,loss=0.1%,reorder=1%/2ms
                      --seed S      decides which frames (1)

            Exit codes: 0 well; 1 it failed, or what is checked is not so; 2 wrong arguments; 130 interrupted.
            """;

    private Main() {
    }

    /** Entry point. */
    public static void main(String[] args) throws Exception {
        System.exit(run(args, System.out));
    }

    /** Runs with the given arguments and returns the exit code. */
    static int run(String[] args, PrintStream out) throws Exception {
        if (Arrays.asList(args).contains("--help") || Arrays.asList(args).contains("-h")) {
            out.print(USAGE);
            return 0;
        }
        String[] split = Arrays.stream(args).flatMap(Main::nameAndValue).toArray(String[]::new);
        String[] rest = split.length == 0 ? split : Arrays.copyOfRange(split, 1, split.length);
        return switch (split.length == 0 ? "" : split[0]) {
            case "link" -> LinkEmulatorMain.run(rest, out);
            case "scripts" -> ScriptMain.run(rest, out);
            case "goodput" -> GoodputMain.run(rest, out);
            default -> SimMain.run(split, out);
        };
    }

    /** {@code --seeds=5} is {@code --seeds 5}, as with the other commands. */
    private static Stream<String> nameAndValue(String argument) {
        return argument.matches("--[a-z-]+=.*") ? Stream.of(argument.split("=", 2)) : Stream.of(argument);
    }
}
