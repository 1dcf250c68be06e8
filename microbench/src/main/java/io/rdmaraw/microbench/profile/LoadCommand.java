package io.rdmaraw.microbench.profile;

import io.rdmaraw.microbench.frames.FrameFeedLoop;
import io.rdmaraw.microbench.udp.UdpPair;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * The command of the process that {@code profile} observes. It runs the load of {@code bench frames} or
 * {@code bench udp}, with both ends on one event loop, until its standard input ends. It prints a line when it has
 * started.
 */
@Command(name = "load", hidden = true, description = "Keeps loops busy until its input ends.")
public final class LoadCommand implements Callable<Integer> {
    /** The default values of {@code bench frames} and {@code bench udp}. */
    private static final int FRAME_BYTES = 64;
    private static final int PAYLOAD_BYTES = 18;
    private static final int WINDOW = 64;

    /** The load of the event loops. */
    enum Path {
        RX, ECHO, UDP
    }

    @Parameters(paramLabel = "PATH")
    private Path path;

    @Option(names = {"-d", "--device"}, defaultValue = "soft:loop")
    private String device;

    @Option(names = "--bursts", description = "one message per burst")
    private boolean burstMessages;

    @Spec
    private CommandSpec spec;

    private final CountDownLatch ended = new CountDownLatch(1);

    @Override
    public Integer call() throws InterruptedException {
        Thread.ofPlatform().daemon().name("end of input").start(this::awaitEndOfInput);
        if (path == Path.UDP) {
            try (UdpPair pair = new UdpPair(UdpPair.Transport.RDMA_RAW, WINDOW, PAYLOAD_BYTES, true)) {
                awaitEnd();
                return pair.roundTrips() > 0 ? 0 : 1;
            }
        }
        try (FrameFeedLoop loop = new FrameFeedLoop(path == Path.ECHO, device, FRAME_BYTES, burstMessages)) {
            awaitEnd();
            return loop.frames() > 0 ? 0 : 1;
        }
    }

    private void awaitEnd() throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        out.println("under way");
        out.flush();
        ended.await();
    }

    private void awaitEndOfInput() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException closed) {
            // A closed input also ends the load.
        }
        ended.countDown();
    }
}
