package io.rdmaraw.verbs.port;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Counts the frames that an RDMA device dropped since it was opened because no receive was posted. Such a frame
 * has no completion, so only the device knows of it. Linux shows the count of a port in sysfs as
 * {@code hw_counters/out_of_buffer}. It includes the queues of other processes on the same port.
 *
 * <p>Reading the file can cost a firmware command. A separate thread reads it, at most once per second and only
 * while a caller requests the count. Thread-safe.
 */
public final class HardwareCounters {
    private static final long MAX_AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final List<Path> outOfBufferFiles;
    private final AtomicBoolean reading = new AtomicBoolean();
    private final long outOfBufferAtOpen;
    private volatile long readNanos;
    private volatile long outOfBufferDrops;

    private HardwareCounters(List<Path> outOfBufferFiles) {
        this.outOfBufferFiles = outOfBufferFiles;
        outOfBufferAtOpen = sum();
        readNanos = System.nanoTime();
    }

    /** Creates counters for a device, starting at 0. */
    public static HardwareCounters of(String device, int portCount) {
        return of(PortInterfaces.sysfsOfHost(), device, portCount);
    }

    static HardwareCounters of(Path sysfs, String device, int portCount) {
        Path directory = sysfs.resolve("class/infiniband").resolve(device);
        // In switchdev mode mlx5 counts per device, and none of its ports has the file (hw_switchdev_stats_ops).
        return new HardwareCounters(Stream.concat(Stream.of(directory), IntStream.rangeClosed(1, portCount)
                .mapToObj(port -> directory.resolve("ports/" + port)))
                .map(counted -> counted.resolve("hw_counters/out_of_buffer")).filter(Files::isReadable).toList());
    }

    /** Returns the dropped frames of all ports, at most about a second old; 0 if the driver has no such counter. */
    public long outOfBufferDrops() {
        if (System.nanoTime() - readNanos >= MAX_AGE_NANOS && !outOfBufferFiles.isEmpty()
                && reading.compareAndSet(false, true)) {
            Thread.ofVirtual().name("rdma-raw-hw-counters").start(this::read);
        }
        return outOfBufferDrops;
    }

    /** Returns the frames dropped so far, also before this process began. */
    public long outOfBufferTotal() {
        return sum();
    }

    private void read() {
        try {
            outOfBufferDrops = Math.max(outOfBufferDrops, sum() - outOfBufferAtOpen);
            readNanos = System.nanoTime();
        } finally {
            reading.set(false);
        }
    }

    private long sum() {
        return outOfBufferFiles.stream().mapToLong(HardwareCounters::valueOf).sum();
    }

    private static long valueOf(Path file) {
        try {
            return Long.parseLong(Files.readString(file).strip());
        } catch (IOException | NumberFormatException e) {
            // The device is gone. The count never decreases, so the last value is kept.
            return 0;
        }
    }
}
