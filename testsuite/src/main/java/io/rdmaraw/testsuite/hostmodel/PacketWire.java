package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.testsuite.net.PacketPort;

import java.util.function.Consumer;

/** The far end of a veth, accessed with a packet socket. */
final class PacketWire implements Wire {
    private static final int SLOT_BYTES = 2048;

    private final PacketPort port;
    private final long memory = Libc.allocateZeroed((long) (PacketPort.BURST + 1) * SLOT_BYTES);
    private final byte[] bytes = new byte[SLOT_BYTES];

    PacketWire(PacketPort port) {
        this.port = port;
    }

    @Override
    public boolean inject(byte[] frame) {
        long slot = memory + (long) PacketPort.BURST * SLOT_BYTES;
        NativeMemory.putBytes(slot, frame, 0, frame.length);
        port.sendFrom(0, slot, frame.length);
        try {
            return port.send(1) == 1;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    @Override
    public boolean read(Consumer<Frame> receiver) {
        for (int i = 0; i < PacketPort.BURST; i++) {
            port.receiveInto(i, memory + (long) i * SLOT_BYTES, SLOT_BYTES);
        }
        int count;
        try {
            count = port.receive(PacketPort.BURST);
        } catch (IllegalStateException e) {
            // The link went down, which the socket reports once.
            return false;
        }
        for (int i = 0; i < count; i++) {
            int length = Math.min(SLOT_BYTES, Math.abs(port.receivedBytes(i)));
            NativeMemory.getBytes(memory + (long) i * SLOT_BYTES, bytes, 0, length);
            Frame frame = Frame.parse(bytes, length);
            if (frame != null) {
                receiver.accept(frame);
            }
        }
        return count > 0;
    }

    @Override
    public void close() {
        port.close();
        Libc.free(memory);
    }
}
