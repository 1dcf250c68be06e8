package io.rdmaraw.testsuite;

import io.rdmaraw.testsuite.contract.ContractMain;
import io.rdmaraw.testsuite.goodput.GoodputMain;
import io.rdmaraw.testsuite.hostmodel.HostModelMain;
import io.rdmaraw.testsuite.net.LinkEmulatorMain;
import io.rdmaraw.testsuite.script.ScriptMain;
import io.rdmaraw.testsuite.sim.SimMain;

import java.io.InputStream;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.stream.Stream;

/** Entry point of {@code ./rdma-raw sim} and {@code test --host-model}. The first argument selects the tool. */
public final class Main {
    /** A resource file, so that the launcher can show it without a build. */
    private static final String HELP = "sim-help.txt";

    private Main() {
    }

    public static void main(String[] args) throws Exception {
        System.exit(run(args, System.out));
    }

    /** Runs with the given arguments and returns the exit code. */
    static int run(String[] args, PrintStream out) throws Exception {
        if (Arrays.asList(args).contains("--help") || Arrays.asList(args).contains("-h")) {
            try (InputStream help = Main.class.getResourceAsStream(HELP)) {
                help.transferTo(out);
            }
            return 0;
        }
        String[] split = Arrays.stream(args).flatMap(Main::nameAndValue).toArray(String[]::new);
        String[] rest = split.length == 0 ? split : Arrays.copyOfRange(split, 1, split.length);
        return switch (split.length == 0 ? "" : split[0]) {
            case "link" -> LinkEmulatorMain.run(rest, out);
            case "scripts" -> ScriptMain.run(rest, out);
            case "contract" -> ContractMain.run(rest, out);
            case "goodput" -> GoodputMain.run(rest, out);
            case "host-model" -> HostModelMain.run(rest, out);
            default -> SimMain.run(split, out);
        };
    }

    /** Splits {@code --seeds=5} into {@code --seeds 5}, which the other commands accept, too. */
    private static Stream<String> nameAndValue(String argument) {
        return argument.matches("--[a-z-]+=.*") ? Stream.of(argument.split("=", 2)) : Stream.of(argument);
    }
}
