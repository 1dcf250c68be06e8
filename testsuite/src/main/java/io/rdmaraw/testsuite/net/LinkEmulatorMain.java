package io.rdmaraw.testsuite.net;

import io.rdmaraw.testsuite.sim.Impairment;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.NetworkInterface;
import java.util.concurrent.CountDownLatch;

/**
 * Emulates a link between two interfaces until it is interrupted, then prints its counters.
 *
 * <pre>
 * --left IF         one interface, without addresses and with its offloads off
 * --right IF        the other interface
 * --both TEXT       impairment of both directions: rate=1G,buffer=256K,delay=10ms,jitter=1ms,loss=0.1%,
 *                   reorder=1%/2ms
 * --to-right TEXT   impairment of one direction
 * --to-left TEXT    impairment of the other direction
 * --seed S          seed of the random decisions (default 1)
 * </pre>
 */
public final class LinkEmulatorMain {
    private static final String USAGE = "; usage: sim link --left IF --right IF [--both TEXT] [--to-right TEXT]"
            + " [--to-left TEXT] [--seed S], where TEXT is for instance rate=1G,buffer=256K,delay=10ms,loss=0.1%";
    private String left;
    private String right;
    private Impairment toRight = Impairment.NONE;
    private Impairment toLeft = Impairment.NONE;
    private long seed = 1;

    private LinkEmulatorMain() {
    }

    /** Runs with the given arguments and returns the exit code: 2 if they are wrong. */
    public static int run(String[] args, PrintStream out) {
        LinkEmulatorMain main = new LinkEmulatorMain();
        try {
            main.parse(args);
        } catch (IllegalArgumentException e) {
            out.println(e.getMessage() + USAGE);
            return 2;
        }
        main.emulate(out);
        return 0;
    }

    private void parse(String[] args) {
        for (int i = 0; i + 1 < args.length; i += 2) {
            String value = args[i + 1];
            switch (args[i]) {
                case "--left" -> left = value;
                case "--right" -> right = value;
                case "--seed" -> seed = Long.parseLong(value);
                case "--to-right" -> toRight = Impairment.parse(value);
                case "--to-left" -> toLeft = Impairment.parse(value);
                case "--both" -> {
                    toRight = Impairment.parse(value);
                    toLeft = toRight;
                }
                default -> throw new IllegalArgumentException("unknown option " + args[i]);
            }
        }
        if (args.length % 2 != 0 || left == null || right == null) {
            throw new IllegalArgumentException("--left and --right name the interfaces, every option has a value");
        }
    }

    private void emulate(PrintStream out) {
        LinkEmulator emulator = LinkEmulator.start(open(left), () -> open(right), toRight, toLeft, seed);
        CountDownLatch ended = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            emulator.close();
            out.println("to right: " + emulator.toRight());
            out.println("to left:  " + emulator.toLeft());
            out.flush();
            ended.countDown();
        }));
        out.println("emulating a link between " + left + " and " + right + "; interrupt to end");
        out.flush();
        try {
            ended.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static PacketPort open(String name) {
        try {
            NetworkInterface found = NetworkInterface.getByName(name);
            if (found == null) {
                throw new IOException("there is no interface " + name + " in this network namespace");
            }
            return PacketPort.open(name, found.getIndex());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
