<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="1" opacity="1" alphaBand="-1"
        classificationMin="0" classificationMax="10000">
      <rasterTransparency>
        <singleValuePixelList>
          <pixelListEntry min="0" max="0" percentTransparent="100"/>
        </singleValuePixelList>
      </rasterTransparency>
      <rastershader>
        <colorrampshader colorRampType="DISCRETE" classificationMode="1" clip="0"
            minimumValue="0" maximumValue="10000">
          <item value="0" label="0" color="#000000" alpha="0"/>
          <item value="9.5" label="1 – 9" color="#f1605d" alpha="255"/>
          <item value="29.5" label="10 – 29" color="#d8456c" alpha="255"/>
          <item value="99.5" label="30 – 99" color="#b73779" alpha="255"/>
          <item value="299.5" label="100 – 299" color="#942c80" alpha="255"/>
          <item value="999.5" label="300 – 999" color="#732081" alpha="255"/>
          <item value="2999.5" label="1,000 – 2,999" color="#52137c" alpha="255"/>
          <item value="9999.5" label="3,000 – 9,999" color="#2f1163" alpha="255"/>
          <item value="inf" label="10,000 or more" color="#120d31" alpha="255"/>
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
</qgis>
