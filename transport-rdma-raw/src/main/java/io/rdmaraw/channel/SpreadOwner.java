package io.rdmaraw.channel;

/** Whose rule several loops share from the beginning: has each of them join when it first meets the rule. */
interface SpreadOwner {
    /** A frame of the rule has come to a loop; called on that loop, which may have joined already. */
    void joinBy(PortQueue port);
}
