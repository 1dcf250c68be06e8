package io.rdmaraw.verbs.flow;

/** {@code enum ibv_flow_attr_type}, in its order: what a rule takes. */
public enum FlowType {
    /** The frames that match. */
    NORMAL("normal"),
    /** Every frame that no rule took and the kernel does not want. */
    ALL_DEFAULT("all-default"),
    /** Every multicast frame that no rule took and the kernel does not want. */
    MC_DEFAULT("mc-default"),
    /** A copy of every frame, received and sent. */
    SNIFFER("sniffer");

    private final String word;

    FlowType(String word) {
        this.word = word;
    }

    /** Returns the word for this type in the textual form of rules. */
    String word() {
        return word;
    }
}
