package io.rdmaraw.testsuite.net;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** A tcpdump that writes the first frames of an interface to a pcap file, which is kept or removed at the end. */
public final class PacketCapture implements AutoCloseable {
    private static final Duration START_LIMIT = Duration.ofSeconds(10);
    /** Enough to see what went wrong; a flood must not fill the disk. */
    private static final String MAX_FRAMES = "20000";
    /** The ring holds a whole test, so that no frame is missed while tcpdump waits for a processor. */
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
        // -U: each frame is in the file once seen. -Z root: stay who we are, or the file would belong to "tcpdump".
        PeerProcess tcpdump = end.namespace().start("tcpdump", "-i", end.name(), "-n", "-U", "-Z", "root", "-c",
                MAX_FRAMES, "-B", RING_KIB, "--immediate-mode", "-w", file.toString());
        PacketCapture capture = new PacketCapture(end, file, tcpdump);
        try {
            tcpdump.awaitOutput("listening on", START_LIMIT);
        } catch (Throwable e) {
            capture.close();
            throw e;
        }
        return capture;
    }

    VethEnd end() {
        return end;
    }

    /** The file, which holds every frame seen until now. */
    public Path file() {
        return file;
    }

    /** Leaves the file where it is when the capture ends. */
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
