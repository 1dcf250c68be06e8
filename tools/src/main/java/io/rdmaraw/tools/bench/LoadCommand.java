package io.rdmaraw.tools.bench;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * The process that {@code profile} looks at: what {@code bench frames} and {@code bench udp} measure, going on until
 * its input ends. It prints a line when it is under way.
 */
@Command(name = "load", hidden = true, description = "Keeps loops busy until its input ends.")
final class LoadCommand implements Callable<Integer> {
    /** What {@code bench frames} and {@code bench udp} send by default. */
    private static final int FRAME_BYTES = 64;
    private static final int PAYLOAD_BYTES = 18;
    private static final int BURST = 64;
    private static final double TURN_SECONDS = 0.5;

    /** What the loops do. */
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

    private volatile boolean ended;

    @Override
    public Integer call() throws InterruptedException {
        Thread.ofPlatform().daemon().name("end of input").start(this::awaitEndOfInput);
        if (path == Path.UDP) {
            try (UdpPair pair = new UdpPair(UdpPair.Transport.RDMA_RAW, BURST, PAYLOAD_BYTES)) {
                repeat(() -> pair.run(TURN_SECONDS));
            }
        } else {
            FramesCase.Mode mode = path == Path.RX ? FramesCase.Mode.RX : FramesCase.Mode.ECHO;
            try (LoopUnderTest loop = new LoopUnderTest(new FramesCase(mode, BURST), device, FRAME_BYTES,
                    burstMessages)) {
                repeat(() -> loop.run(TURN_SECONDS));
            }
        }
        return 0;
    }

    private interface Turn {
        void run() throws InterruptedException;
    }

    private void repeat(Turn turn) throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        out.println("under way");
        out.flush();
        while (!ended) {
            turn.run();
        }
    }

    private void awaitEndOfInput() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException closed) {
            // As good as its end.
        }
        ended = true;
    }
}
