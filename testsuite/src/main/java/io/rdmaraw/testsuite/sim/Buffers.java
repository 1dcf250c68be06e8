package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Every buffer that one end of a run was given, and the transmissions its device has not completed yet. */
final class Buffers {
    private static final int TRANSMISSIONS_IN_DEVICE = 32;

    private final SplitMix random;
    private final List<ByteBuf> all = new ArrayList<>();
    private final ArrayDeque<ByteBuf> inDevice = new ArrayDeque<>();

    Buffers(SplitMix random) {
        this.random = random;
    }

    /** Returns a buffer with these bytes, somewhere inside of it. */
    ByteBuf of(byte[] bytes) {
        int lead = random.below(3);
        ByteBuf buffer = Unpooled.buffer(lead + bytes.length);
        buffer.writeZero(lead).writeBytes(bytes).readerIndex(lead);
        all.add(buffer);
        return buffer;
    }

    /** Takes references to what a segment that goes out is of, and gives them back some transmissions later. */
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

    /** Checks at the end of a run that nothing is kept, and that nothing was released too often. */
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
