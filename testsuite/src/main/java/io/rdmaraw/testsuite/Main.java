package io.rdmaraw.testsuite;

import io.rdmaraw.testsuite.goodput.GoodputMain;
import io.rdmaraw.testsuite.net.RelayMain;
import io.rdmaraw.testsuite.sim.SimMain;

import java.util.Arrays;

/** What {@code ./rdma-raw sim} runs: seeds of the simulation, or what its first argument names. */
public final class Main {
    private Main() {
    }

    /** Entry point. */
    public static void main(String[] args) throws Exception {
        String[] rest = args.length == 0 ? args : Arrays.copyOfRange(args, 1, args.length);
        System.exit(switch (args.length == 0 ? "" : args[0]) {
            case "relay" -> RelayMain.run(rest, System.out);
            case "goodput" -> GoodputMain.run(rest, System.out);
            default -> SimMain.run(args, System.out);
        });
    }
}
