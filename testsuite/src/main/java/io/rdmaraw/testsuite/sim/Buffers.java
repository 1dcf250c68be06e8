package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Tracks all buffers passed to one end of a run, and the transmissions that its simulated device has not
 * completed.
 */
final class Buffers {
    private static final int TRANSMISSIONS_IN_DEVICE = 32;

    private final SplitMix random;
    private final List<ByteBuf> all = new ArrayList<>();
    private final ArrayDeque<ByteBuf> inDevice = new ArrayDeque<>();

    Buffers(SplitMix random) {
        this.random = random;
    }

    /** Returns a buffer that contains these bytes at a random offset. */
    ByteBuf of(byte[] bytes) {
        int lead = random.below(3);
        ByteBuf buffer = Unpooled.buffer(lead + bytes.length);
        buffer.writeZero(lead).writeBytes(bytes).readerIndex(lead);
        all.add(buffer);
        return buffer;
    }

    /**
     * Retains the payload of a transmitted segment and releases it after a random number of further
     * transmissions, as a device does.
     */
    void transmit(Segment segment) {
        for (int i = 0; i < segment.sliceCount(); i++) {
            check(segment.sliceBuffer(i).refCnt() > 0, "sends living buffers", segment.toString());
        }
        segment.retainPayload();
        for (int i = 0; i < segment.sliceCount(); i++) {
            inDevice.add(segment.sliceBuffer(i));
        }
        segment.detachPayload();
        int keep = random.below(TRANSMISSIONS_IN_DEVICE);
        while (inDevice.size() > keep) {
            inDevice.remove().release();
        }
    }

    /** Checks at the end of a run that every buffer has been released exactly as often as it was retained. */
    void checkReleased(String name) {
        inDevice.forEach(ByteBuf::release);
        inDevice.clear();
        int kept = 0;
        for (ByteBuf buffer : all) {
            kept += buffer.refCnt() == 0 ? 0 : 1;
        }
        check(kept == 0, "reference counts return to zero", name + " keeps " + kept + " of " + all.size() + " buffers");
    }
}
