"""Raw robot logs: MCAP, ROS 1 bags and rosbag2, read as one stream of messages that a topic map makes episodes of."""
