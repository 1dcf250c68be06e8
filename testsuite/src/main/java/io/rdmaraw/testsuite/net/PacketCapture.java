package io.rdmaraw.testsuite.net;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Captures the first frames of an interface to a pcap file with tcpdump. The file is removed at the end unless it is to
 * be kept.
 */
public final class PacketCapture implements AutoCloseable {
    /** Enough frames to diagnose a failure, without filling the disk during a flood. */
    private static final String MAX_FRAMES = "20000";
    /**
     * Size of the ring. It holds the frames of a whole test, so that none is missed while tcpdump waits for a
     * processor.
     */
    private static final String RING_KIB = "16384";

    private final VethEnd end;
    private final Path file;
    private final PeerProcess tcpdump;
    private boolean kept;

    private PacketCapture(VethEnd end, Path file, PeerProcess tcpdump) {
        this.end = end;
        this.file = file;
        this.tcpdump = tcpdump;
    }

    static PacketCapture start(VethEnd end, Path file) {
        try {
            Files.createDirectories(file.getParent());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        // -U writes each frame to the file immediately. -Z root keeps the user; otherwise the file would belong to
        // "tcpdump".
        PeerProcess tcpdump = end.namespace().start("tcpdump", "-i", end.name(), "-n", "-U", "-Z", "root", "-c",
                MAX_FRAMES, "-B", RING_KIB, "--immediate-mode", "-w", file.toString());
        PacketCapture capture = new PacketCapture(end, file, tcpdump);
        try {
            tcpdump.awaitOutput("listening on", Await.PATIENCE);
        } catch (Throwable e) {
            capture.close();
            throw e;
        }
        return capture;
    }

    VethEnd end() {
        return end;
    }

    /** Returns the file, which contains every frame captured so far. */
    public Path file() {
        return file;
    }

    /** Keeps the file when the capture ends. */
    public void keep() {
        kept = true;
    }

    @Override
    public void close() {
        tcpdump.close();
        if (!kept) {
            try {
                Files.deleteIfExists(file);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
