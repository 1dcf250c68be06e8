package io.rdmaraw.verbs.flow;

/** The types of rules, in the order of {@code enum ibv_flow_attr_type}. */
public enum FlowType {
    /** Matches the frames that meet the conditions. */
    NORMAL("normal"),
    /** Matches every frame that matched no other rule and that the kernel does not receive. */
    ALL_DEFAULT("all-default"),
    /** Matches every multicast frame that matched no other rule and that the kernel does not receive. */
    MC_DEFAULT("mc-default"),
    /** Receives a copy of every frame that the port receives or sends. */
    SNIFFER("sniffer");

    private final String word;

    FlowType(String word) {
        this.word = word;
    }

    /** Returns the word for this type in the text form of rules. */
    String word() {
        return word;
    }
}
