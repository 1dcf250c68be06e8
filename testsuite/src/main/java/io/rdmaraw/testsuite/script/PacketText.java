package io.rdmaraw.testsuite.script;

import io.rdmaraw.testsuite.sim.Packet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** The description of a packet in a script: its flags and named fields. */
final class PacketText {
    private static final String LETTERS = "FSRP.UEW";

    final int flags;
    private final String word;
    private final boolean ackOptional;
    private final Map<String, String> fields = new HashMap<>();
    final List<long[]> sack = new ArrayList<>();

    PacketText(String text) {
        String[] words = text.strip().split("\\s+");
        word = words[0];
        ackOptional = words[0].endsWith("?");
        flags = Character.isLowerCase(word.charAt(0)) ? 0 : flagsOf(word.replace("?", ""));
        for (int i = 1; i < words.length; i++) {
            switch (words[i]) {
                case "sackOK", "badsum", "open" -> fields.put(words[i], "");
                case "sack" -> {
                    String[] edges = words[++i].split("-");
                    sack.add(new long[] {Long.parseLong(edges[0]), Long.parseLong(edges[1])});
                }
                default -> fields.put(words[i], words[++i]);
            }
        }
    }

    private static int flagsOf(String letters) {
        int flags = 0;
        for (char letter : letters.toCharArray()) {
            int bit = LETTERS.indexOf(letter);
            if (bit < 0) {
                throw new IllegalArgumentException("no flag '" + letter + "' in \"" + letters + "\"");
            }
            flags |= 1 << bit;
        }
        return flags;
    }

    boolean has(String field) {
        return fields.containsKey(field);
    }

    int number(String field, int otherwise) {
        String value = fields.get(field);
        return value == null ? otherwise : (int) Long.parseLong(value);
    }

    /** Returns the first word: the flags, or the name of an ICMP message. */
    String word() {
        return word;
    }

    /** Returns an address field in mapped form, or {@code otherwise} if it is absent. */
    long address(String field, long otherwise) {
        String value = fields.get(field);
        if (value == null) {
            return otherwise;
        }
        long address = 0;
        for (String part : value.split("\\.")) {
            address = address << 8 | Integer.parseInt(part);
        }
        return 0xffff_0000_0000L | address;
    }

    byte[] options() {
        String value = fields.get("opt");
        return value == null ? new byte[0] : HexFormat.of().parseHex(value);
    }

    /** Returns the name of the first field in which {@code packet} differs from this description, or null. */
    String difference(Packet packet, int ourIss, int peerIss) {
        int ignored = Packet.PSH | (ackOptional ? Packet.ACK : 0);
        if ((packet.flags & ~ignored) != (flags & ~ignored)) {
            return "flags";
        }
        String wrong = differs("seq", packet.seq - ourIss);
        wrong = wrong != null ? wrong : differs("ack", packet.ack - peerIss);
        wrong = wrong != null ? wrong : differs("win", packet.window);
        wrong = wrong != null ? wrong : differs("mss", packet.mss);
        wrong = wrong != null ? wrong : differs("ws", packet.windowScale);
        wrong = wrong != null ? wrong : differs("ts", packet.timestamps ? packet.tsEcho : -1);
        if (wrong != null) {
            return wrong;
        }
        if (packet.mss != 0 && !packet.has(Packet.SYN)) {
            return "an MSS option in a segment without SYN";
        }
        if (packet.payload.length != number("len", 0)) {
            return "len";
        }
        if (has("sackOK") != packet.sackPermitted && packet.has(Packet.SYN)) {
            return "sackOK";
        }
        if (has("open") && packet.window == 0) {
            return "win";
        }
        return sackDiffers(packet, peerIss) ? "sack" : null;
    }

    private String differs(String field, int value) {
        return has(field) && number(field, 0) != value ? field : null;
    }

    private boolean sackDiffers(Packet packet, int peerIss) {
        if (packet.sack.length != 2 * sack.size()) {
            return true;
        }
        for (int i = 0; i < sack.size(); i++) {
            if (packet.sack[2 * i] - peerIss != sack.get(i)[0] || packet.sack[2 * i + 1] - peerIss != sack.get(i)[1]) {
                return true;
            }
        }
        return false;
    }
}
