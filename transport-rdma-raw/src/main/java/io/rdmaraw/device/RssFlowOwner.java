package io.rdmaraw.device;

/** The owner of a rule that several loops share: lets each loop join when it gets the first frame of the rule. */
public interface RssFlowOwner {
    /** A frame of the rule has come to a loop; called on that loop, which may have joined already. */
    void joinBy(DeviceQueue port);
}
