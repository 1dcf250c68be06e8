package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.Toeplitz;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Dispatches segments that the kernel received: reassembled from fragments, or with extension headers removed. The
 * stacks of the device are searched one after the other for the connection. The search starts with the stack that the
 * device's hash would select; that stack also accepts new connections. A segment without a matching rule or connection
 * is dropped here, because the kernel processes it, too. Called on the thread that reads from the kernel.
 */
final class KernelSegments {
    /** Segments can be 64 KiB long and are queued in separate memory until the loops take them. */
    private static final int MAX_WAITING_BYTES = 1 << 20;
    private final SharedDevice device;
    private final TcpStackStatistics counters;
    private final AtomicInteger waitingBytes = new AtomicInteger();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private final Toeplitz hash;

    KernelSegments(TcpStack stack, TcpStackStatistics counters) {
        this.counters = counters;
        device = stack.port().device();
        hash = Toeplitz.standard(device.rssFlows().key());
    }

    /**
     * A segment, the stacks to search, and the stack that answers it if none knows the connection. The search is passed
     * from loop to loop.
     */
    private record Search(KernelSegments origin, ByteBuf frame, List<TcpStack> stacks, TcpStack chosenOrNull) {
        void ask(int index) {
            if (index == stacks.size()) {
                if (chosenOrNull == null) {
                    origin.drop(frame);
                } else {
                    chosenOrNull.executeOrElse(() -> {
                        origin.leave(frame);
                        chosenOrNull.receiveByKernel(frame);
                    }, () -> origin.drop(frame));
                }
                return;
            }
            TcpStack asked = stacks.get(index);
            asked.executeOrElse(() -> {
                int lengthBytes = frame.readableBytes();
                if (asked.receiveIfKnown(frame)) {
                    origin.waitingBytes.addAndGet(-lengthBytes);
                } else {
                    ask(index + 1);
                }
            }, () -> ask(index + 1));
        }
    }

    /** Dispatches a segment, given as a frame, and takes its reference. */
    synchronized void take(ByteBuf frame) {
        // With kernel-visible rules the kernel also receives complete segments that the device has already delivered.
        take(frame, device.counters().kernelVisibleRules() == 0);
    }

    /** Dispatches a frame that another process has received and verified, and takes its reference. */
    synchronized void takeWhole(ByteBuf frame) {
        take(frame, true);
    }

    private void take(ByteBuf frame, boolean mayBeWanted) {
        boolean wanted = mayBeWanted
                && parser.parse(BufferAddress.of(frame), frame.readableBytes(), true, parsed) == ParseVerdict.TCP;
        if (!wanted || waitingBytes.addAndGet(frame.readableBytes()) > MAX_WAITING_BYTES) {
            if (wanted) {
                waitingBytes.addAndGet(-frame.readableBytes());
            }
            counters.droppedKernelSegments.increment();
            frame.release();
            return;
        }
        counters.kernelSegments.increment();
        List<TcpStack> stacks = DeviceStacks.of(device);
        TcpStack chosen = chosen();
        // The selected stack may be about to end and thus be missing from the list.
        if (chosen != null) {
            stacks = new ArrayList<>(stacks);
            stacks.remove(chosen);
            stacks.addFirst(chosen);
        }
        new Search(this, frame, stacks, chosen).ask(0);
    }

    private TcpStack chosen() {
        IpAddress source = IpAddress.sourceOf(parsed);
        IpAddress destination = IpAddress.destinationOf(parsed);
        int flow = source.isIpv4()
                ? hash.ipv4(source.ipv4(), destination.ipv4(), parsed.sourcePort(), parsed.destinationPort())
                : hash.ipv6(source.high(), source.low(), destination.high(), destination.low(), parsed.sourcePort(),
                        parsed.destinationPort());
        for (Object owner : device.rssFlows().owners()) {
            TcpStack chosen = owner instanceof ListeningPort port
                    ? port.chosen(destination, parsed.destinationPort(), flow) : null;
            if (chosen != null) {
                return chosen;
            }
        }
        return null;
    }

    private void leave(ByteBuf frame) {
        waitingBytes.addAndGet(-frame.readableBytes());
    }

    private void drop(ByteBuf frame) {
        leave(frame);
        counters.droppedKernelSegments.increment();
        frame.release();
    }
}
