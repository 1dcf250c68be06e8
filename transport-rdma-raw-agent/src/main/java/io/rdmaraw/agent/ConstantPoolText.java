package io.rdmaraw.agent;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.function.UnaryOperator;

/**
 * Maps the UTF-8 entries of a class file's constant pool (JVMS section 4.4.7). All class names, descriptors, signatures
 * and strings of a class are stored there, so mapping an entry changes all its uses.
 */
final class ConstantPoolText {
    private static final int MAGIC_AND_VERSION_BYTES = 8;
    private static final int UTF8 = 1;

    private ConstantPoolText() {
    }

    /** Returns the class file with each UTF-8 entry mapped. */
    static byte[] map(byte[] classFile, UnaryOperator<String> mapping) {
        ByteArrayOutputStream mapped = new ByteArrayOutputStream(classFile.length + classFile.length / 8);
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(classFile));
                DataOutputStream out = new DataOutputStream(mapped)) {
            copy(in, out, MAGIC_AND_VERSION_BYTES);
            int count = in.readUnsignedShort();
            out.writeShort(count);
            for (int index = 1; index < count; index++) {
                int tag = in.readUnsignedByte();
                out.writeByte(tag);
                if (tag == UTF8) {
                    out.writeUTF(mapping.apply(in.readUTF()));
                } else {
                    copy(in, out, entryBytes(tag));
                    // A long or a double occupies two entries.
                    index += tag == 5 || tag == 6 ? 1 : 0;
                }
            }
            in.transferTo(out);
        } catch (IOException e) {
            throw new IllegalArgumentException("this is not a class file: " + e, e);
        }
        return mapped.toByteArray();
    }

    private static void copy(DataInputStream in, DataOutputStream out, int count) throws IOException {
        out.write(in.readNBytes(count));
    }

    private static int entryBytes(int tag) throws IOException {
        return switch (tag) {
            case 7, 8, 16, 19, 20 -> 2;
            case 15 -> 3;
            case 3, 4, 9, 10, 11, 12, 17, 18 -> 4;
            case 5, 6 -> 8;
            default -> throw new IOException("a constant of the unknown kind " + tag);
        };
    }
}
