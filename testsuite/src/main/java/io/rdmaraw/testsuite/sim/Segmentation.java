package io.rdmaraw.testsuite.sim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Cuts a large packet as a device with TCP segmentation offload does. */
final class Segmentation {
    private Segmentation() {
    }

    /** Returns the packets as sent on the wire, each with {@code segmentBytes} bytes of payload except the last. */
    static List<Packet> segment(byte[] whole, int segmentBytes) {
        List<Packet> pieces = new ArrayList<>();
        Packet original = Packet.decode(whole);
        int length = original.payload.length;
        for (int at = 0; at < length; at += segmentBytes) {
            Packet piece = Packet.decode(whole);
            int end = Math.min(at + segmentBytes, length);
            piece.payload = Arrays.copyOfRange(original.payload, at, end);
            piece.seq = original.seq + at;
            if (end < length) {
                piece.flags &= ~(Packet.FIN | Packet.PSH);
            }
            pieces.add(piece);
        }
        return pieces;
    }
}
