package io.rdmaraw.testsuite.contract;

import java.util.List;

/** Creates the bytes of each write, and compares them with the received bytes. */
final class Content {
    private Content() {
    }

    static byte at(int write, int offset) {
        return (byte) (write * 0x9e37_79b1 + offset * 0x85eb_ca77 >>> 24);
    }

    /** Returns the content of a write, or the complement with which the writer overwrites it later. */
    static byte[] of(int write, int length, boolean complement) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            byte value = at(write, i);
            bytes[i] = complement ? (byte) ~value : value;
        }
        return bytes;
    }

    /**
     * Compares the received bytes with the writes. Returns "all" if they match in order, otherwise one word for each
     * write that differs.
     */
    static String compare(List<WriteRecord> writes, byte[] received, int length) {
        StringBuilder text = new StringBuilder();
        int firstMissing = -1;
        int cursor = 0;
        for (int i = 0; i < writes.size(); i++) {
            WriteRecord write = writes.get(i);
            int same = matching(write, received, cursor, length);
            cursor += same;
            if (same < write.length) {
                boolean atEnd = cursor == length;
                if (!atEnd && same > 0 && !startsOther(writes, i + 1, received, cursor, length)) {
                    return text.append('w').append(write.id).append("=changed").toString();
                }
                firstMissing = firstMissing < 0 ? write.id : firstMissing;
                text.append('w').append(write.id).append(same == 0 ? "=missing " : "=part ");
            }
        }
        if (cursor < length) {
            return firstMissing < 0 ? "more" : "w" + firstMissing + "=changed";
        }
        return text.isEmpty() ? "all" : text.toString().strip();
    }

    private static int matching(WriteRecord write, byte[] received, int from, int to) {
        int most = Math.min(write.length, to - from);
        for (int i = 0; i < most; i++) {
            if (received[from + i] != at(write.id, i)) {
                return i;
            }
        }
        return most;
    }

    private static boolean startsOther(List<WriteRecord> writes, int from, byte[] received, int cursor, int length) {
        for (int i = from; i < writes.size(); i++) {
            if (writes.get(i).length > 0 && matching(writes.get(i), received, cursor, length) > 0) {
                return true;
            }
        }
        return false;
    }
}
