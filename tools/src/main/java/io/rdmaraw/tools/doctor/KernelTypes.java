package io.rdmaraw.tools.doctor;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The structures of the running kernel, read from the BTF in {@code /sys/kernel/btf/vmlinux} (btf.rst of the kernel).
 * The version number of a stable kernel does not reveal which fixes it contains. A structure member added by a fix
 * does.
 */
final class KernelTypes {
    private static final int MAGIC = 0xeb9f;
    private static final int TYPE_BYTES = 12;
    private static final int MEMBER_BYTES = 12;
    private static final int STRUCT = 4;
    private static final int LARGEST_KIND = 19;
    /** Number of bytes that follow a type, by kind, and number of bytes of each of its parts. */
    private static final int[] TAIL_BYTES = {0, 4, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 4, 0, 0};
    private static final int[] PART_BYTES = {0, 0, 0, 0, 12, 12, 8, 0, 0, 0, 0, 0, 0, 8, 0, 12, 0, 0, 0, 12};

    private final ByteBuffer btf;
    private final int typesAt;
    private final int typesEnd;
    private final int namesAt;

    /**
     * Parses the header.
     *
     * @throws IllegalArgumentException if the data is not BTF or has a different byte order
     */
    KernelTypes(byte[] bytes) {
        btf = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
        if (bytes.length < 24 || Short.toUnsignedInt(btf.getShort(0)) != MAGIC) {
            throw new IllegalArgumentException("no BTF of this kernel");
        }
        int header = btf.getInt(4);
        typesAt = header + btf.getInt(8);
        typesEnd = typesAt + btf.getInt(12);
        namesAt = header + btf.getInt(16);
    }

    /** Returns whether a structure of this name has a member of that name. */
    boolean hasMember(String structure, String member) {
        int at = typesAt;
        while (at + TYPE_BYTES <= typesEnd) {
            int info = btf.getInt(at + 4);
            int kind = info >>> 24 & 31;
            int parts = info & 0xffff;
            if (kind == 0 || kind > LARGEST_KIND) {
                return false;
            }
            if (kind == STRUCT && isNamed(at, structure)) {
                return anyIsNamed(at + TYPE_BYTES, parts, member);
            }
            at += TYPE_BYTES + TAIL_BYTES[kind] + parts * PART_BYTES[kind];
        }
        return false;
    }

    private boolean anyIsNamed(int members, int count, String name) {
        for (int i = 0; i < count; i++) {
            if (isNamed(members + i * MEMBER_BYTES, name)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a type or member has this name. Both begin with the offset of a zero-terminated name. */
    private boolean isNamed(int at, String name) {
        byte[] wanted = (name + '\0').getBytes(StandardCharsets.US_ASCII);
        int from = namesAt + btf.getInt(at);
        if (from < 0 || from + wanted.length > btf.capacity()) {
            return false;
        }
        for (int i = 0; i < wanted.length; i++) {
            if (btf.get(from + i) != wanted[i]) {
                return false;
            }
        }
        return true;
    }
}
